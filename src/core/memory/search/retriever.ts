/** Where a hit comes from. */
export type SearchSource = 'memory' | 'history' | 'session';

export interface SearchQuery {
  /** Without a word in it, what was said between `since` and `until` is listed, the newest first. */
  readonly text: string;
  /** Most hits by words. Hits by meaning may come on top, at most as many; none by words is left out for them. */
  readonly limit: number;
  /**
   * `all`: everything, for the owner; a list: only these sessions, where null stands for the memory itself; an empty list
   * finds nothing.
   */
  readonly scope: 'all' | readonly (string | null)[];
  /** Milliseconds since 1970; `since` and `until` leave out hits without a time. */
  readonly since?: number;
  readonly until?: number;
  /**
   * `since` and `until` come from the words of a question: hits without a time stay, and those whose text names one of these
   * dates. @default the times are strict
   */
  readonly dates?: readonly string[];
  /** For measuring. @default by both, where there is a model for meaning */
  readonly by?: 'words' | 'meaning';
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
  /** It holds text of others. */
  readonly untrusted: boolean;
  /** It is of a turn of somebody with fewer rights than the owner. @default false */
  readonly belowOwner?: boolean;
  /** One line of the text around the match. */
  readonly snippet: string;
  /** Higher is better; comparable only within one search. */
  readonly score: number;
}

/** Searches conversations and memory. Another way to search, such as embeddings, implements this too. */
export interface Retriever {
  /** Best first. Throws one sentence when it cannot search. */
  search(query: SearchQuery): Promise<readonly MemoryHit[]>;
}

/** What is searched, and where the index is; absolute paths. */
export interface SearchFiles {
  /** The folder of the tapes. */
  readonly sessions: string;
  readonly workspace: string;
  /** The index. */
  readonly database: string;
  /** IANA name of the zone in which HISTORY.md has its times. @default the machine's */
  readonly timezone?: string | null;
}
