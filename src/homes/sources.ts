import type { TableChanges } from './journal-changes.ts';
import type { Statement } from './postgres.ts';
import type { Place } from './statements.ts';

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
