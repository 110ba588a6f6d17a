/** Where a hit comes from. */
export type SearchSource = 'memory' | 'history' | 'session';

export interface SearchQuery {
  readonly text: string;
  /** The most hits. */
  readonly limit: number;
  /** `all`: everything, for the owner; otherwise only these sessions; an empty list finds nothing. */
  readonly scope: 'all' | readonly string[];
  /** Milliseconds since 1970; hits without a time are left out by them. */
  readonly since?: number;
  readonly until?: number;
}

export interface MemoryHit {
  readonly source: SearchSource;
  /** The session it was said in. */
  readonly session?: string;
  readonly turn?: string;
  /** Milliseconds since 1970. */
  readonly at?: number;
  /** Who said it. */
  readonly role?: 'user' | 'assistant';
  /** Somebody else than the owner wrote it. */
  readonly untrusted: boolean;
  /** One line around what was found. */
  readonly snippet: string;
  /** Higher is better; of no meaning by itself. */
  readonly score: number;
}

/** Finds what was said and written earlier. Another way of finding (embeddings, say) is another one of these. */
export interface Retriever {
  /** Best first. Throws one sentence when it cannot search. */
  search(query: SearchQuery): Promise<readonly MemoryHit[]>;
}

/** Absolute paths. */
export interface SearchFiles {
  /** The folder of the tapes. */
  readonly sessions: string;
  readonly workspace: string;
  /** The index. */
  readonly database: string;
}
