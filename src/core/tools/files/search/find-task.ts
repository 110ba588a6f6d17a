import type { WalkBase } from '../../../security/paths/guarded-walk.ts';

interface Common {
  readonly base: WalkBase;
  /** What stands before the names in the answer, with a slash at its end unless it is empty. */
  readonly prefix: string;
  readonly pattern: string;
  /** Whether to look also at what git ignores. */
  readonly ignored: boolean;
  /** Results to pass over, and most to show. */
  readonly offset: number;
  readonly limit: number;
  /** Characters of the answer. */
  readonly pageChars: number;
  /** The search ends after this many ms with what it has found. */
  readonly budgetMs: number;
}

export interface GlobTask extends Common {
  readonly kind: 'glob';
}

/** `lines`: what matches, with so many lines around it; `files`: where; `count`: how often in each file. */
export interface GrepTask extends Common {
  readonly kind: 'grep';
  readonly mode: 'lines' | 'files' | 'count';
  readonly context: number;
  readonly ignoreCase: boolean;
  /** Only files that match this pattern. */
  readonly glob: string | null;
}

/** What a thread is given. */
export type FindTask = GlobTask | GrepTask;

/** A file of which the answer shows something. */
export interface ShownFile {
  /** Real. */
  readonly path: string;
  /** SHA-256 in hex of what was searched; null: nothing but white space, or nothing of it is shown. */
  readonly hash: string | null;
  /** Something of its content is shown, beside its name. */
  readonly isQuoted: boolean;
  readonly ctimeMs: number;
}

export interface FoundFiles {
  readonly text: string;
  readonly shown: readonly ShownFile[];
  /** Results that are shown. */
  readonly results: number;
  /** Files that were looked at. */
  readonly searched: number;
  /** The offset of the next page; null: there is none. */
  readonly next: number | null;
  /** Files and folders that need a yes or cannot be opened. */
  readonly closed: number;
  /** Files and folders that `.gitignore` names, which were left out. */
  readonly ignored: number;
  /** Files that could be opened and are binary, and those with a line of which only the beginning was searched. */
  readonly binary: number;
  readonly beginnings: number;
  /** Why it ended before everything was looked at. */
  readonly ended: 'time' | 'entries' | null;
}
