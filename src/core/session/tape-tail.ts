import { isOlderTurn, type TapeEntry } from './entry.ts';
import { WindowScan } from './history-window.ts';

/** The end of a tape that is kept in memory: the history window and the newest turn. Oldest first, without gaps. */
export interface Tail {
  readonly entries: readonly TapeEntry[];
  /** Index of the first entry that the history needs. */
  readonly windowFrom: number;
}

/**
 * Reads a tape backwards until the history window and one turn are complete: `turn`. @default the newest turn on the tape
 */
export async function readTail(newestFirst: AsyncIterable<TapeEntry>, turn?: string): Promise<Tail> {
  const reader = new TailReader(turn);
  for await (const entry of newestFirst) if (!reader.take(entry)) break;
  return reader.finish();
}

/** Drops the entries of a tail that neither its window nor its newest turn needs. */
export function shrinkTail(entries: readonly TapeEntry[]): Tail {
  const reader = new TailReader();
  for (const entry of entries.toReversed()) if (!reader.take(entry)) break;
  return reader.finish();
}

class TailReader {
  readonly #scan = new WindowScan();
  readonly #older: TapeEntry[] = [];
  #turn: string | undefined;
  #scanning = true;
  #turnSeen = false;
  #turnComplete = false;

  constructor(turn?: string) {
    this.#turn = turn;
  }

  take(entry: TapeEntry): boolean {
    if (!this.#turnComplete) this.#seekTurn(entry);
    if (this.#scanning) this.#scanning = this.#scan.take(entry);
    else this.#older.push(entry);
    return this.#scanning || !this.#turnComplete;
  }

  finish(): Tail {
    const window = this.#scan.finish();
    const inWindow = new Set(window.entries.map((entry) => entry.id));
    const older = this.#older.filter((entry) => !inWindow.has(entry.id)).reverse();
    return { entries: [...older, ...window.entries], windowFrom: older.length };
  }

  #seekTurn(entry: TapeEntry): void {
    this.#turn ??= entry.turn ?? undefined;
    if (this.#turn === undefined) return;
    if (entry.turn === this.#turn) {
      this.#turnSeen = true;
      this.#turnComplete = entry.kind === 'turn-start';
    } else if (this.#turnSeen) {
      this.#turnComplete = entry.kind === 'turn-start' || entry.kind === 'turn-end';
    } else {
      this.#turnComplete = entry.turn !== null && isOlderTurn(entry.turn, this.#turn);
    }
  }
}

/**
 * Whether `turn` has certainly not begun on a tape that ends with `entries`: turns of a session run one after another and
 * their ids grow, so the tape has nothing of a turn whose id is greater than the newest one.
 */
export function isYounger(turn: string, entries: readonly TapeEntry[]): boolean {
  const newest = entries.findLast((entry) => entry.turn !== null)?.turn ?? undefined;
  return newest === undefined || isOlderTurn(newest, turn);
}
