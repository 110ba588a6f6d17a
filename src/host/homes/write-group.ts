import type { TableChanges } from './journal-changes.ts';
import type { Place, Statement } from './statements.ts';
import type { Waiting } from './tape-queue.ts';

/** The journal, as far as the writer has to know it. All are read at one moment. */
export interface JournalSource {
  /** Commits of this process so far. */
  readonly commits: number;
  take(): readonly TableChanges[];
  sequences(): Readonly<Record<string, number>>;
}

/** What changed of the files, for the transaction that it belongs to. */
export interface FileChanges {
  /** Nothing changed, so no transaction is needed for it. */
  readonly isEmpty: boolean;
  statements(place: Place): readonly Statement[];
}

/** Files of the home that changed. */
export interface FileSource {
  readonly any: boolean;
  /** Reads them and keeps their pieces in PostgreSQL; rejects as `Postgres` does, and then has them still. */
  take(): Promise<FileChanges>;
}

/** What a transaction has beside files and tapes. */
export interface Rest {
  readonly changes: readonly TableChanges[];
  readonly commits: number;
  readonly extra: readonly Statement[];
  readonly waiting: readonly Waiting[];
}

/** One write transaction. It stays the same until it is known that it was committed. */
export interface Group {
  readonly revision: number;
  readonly commits: number;
  /** Nothing changed, and nobody asked for a transaction. */
  readonly isEmpty: boolean;
  /** It is sent as one message. */
  readonly isShort: boolean;
  readonly statements: readonly Statement[];
  readonly waiting: readonly Waiting[];
}
