import type { TableChanges } from './journal-changes.ts';
import type { Statement } from './postgres.ts';
import type { Waiting } from './tape-queue.ts';

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
