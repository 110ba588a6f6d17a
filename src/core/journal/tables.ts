import type { Database } from '../storage/database.ts';
import type { Migration } from '../storage/open-database.ts';
import type { Clock } from '../util/clock.ts';
import type { Swept } from './rows.ts';

/** Ended rows of a table that are older than `keptMs` are deleted. */
export interface Aged {
  /** Name for people. */
  readonly store: string;
  readonly table: string;
  /** Index by age. @default the key itself grows with time */
  readonly index?: string;
  readonly key: string;
  /** Column with ms since 1970. */
  readonly at: string;
  /** SQL condition for rows that have ended, exactly as in the partial index. @default all rows */
  readonly ended?: string;
  readonly keptMs: number;
  /** SQL assignment that empties columns instead of deleting the row. */
  readonly set?: string;
}

/** One kind of row, swept in slices. */
export interface Sweep {
  /** Name for people; null: it deletes nothing that people know of. */
  readonly store: string | null;
  /** Deletes at most `limit` rows within a transaction. */
  readonly slice: (limit: number) => Swept;
}

/** The tables of an extension in the journal. Statements name its own tables alone; what it wants of the core's it asks the journal for. */
export interface Tables {
  /** The steps that made them, in order; the first creates what is not there. A step, once released, is never edited. */
  readonly migrations: readonly Migration[];
  /** Their columns with what people, models and tools wrote, which `memory forget` looks through. */
  readonly texts?: Readonly<Record<string, readonly string[]>>;
  /** How long rows are kept. */
  readonly aged?: readonly Aged[];
  /** Sweeps that a rule cannot say. */
  readonly sweeps?: (journal: SweptJournal, now: number) => readonly Sweep[];
}

/** What a sweep of an extension has of the journal. */
export interface SweptJournal {
  readonly db: Database;
  readonly clock: Clock;
  /** Deletes a message that was answered with its turn and replies, or a reply. False: that is not over yet, and nothing is deleted. */
  readonly removeAnswered: (of: { readonly inboundId: string | null; readonly outboundId: string | null }) => boolean;
}

/**
 * What statements of extensions may read of the core, beside their own tables. The views belong to the connection, so they are
 * part of the program and no part of the file.
 */
export const CORE_VIEWS = `
  CREATE TEMP VIEW core_messages AS SELECT id, session, state, turn_id, received_at FROM inbound;
  CREATE TEMP VIEW core_turns AS SELECT id, session, state, outcome, updated_at FROM turns;
  CREATE TEMP VIEW core_replies AS SELECT id, turn_id, state FROM outbound;`;

/** The tables of an extension with its name, under which the journal counts their steps. */
export interface NamedTables extends Tables {
  readonly name: string;
}
