import type { ReadUpTo } from '../channel.ts';

/** Cap of remembered cursors. */
const MOST_CURSORS = 5_000;

/** The order of a platform's message ids within one place, and the time that they hold. */
export interface IdOrder {
  readonly compare: (a: string, b: string) => number;
  /** The greatest id before this one. */
  readonly before: (id: string) => string;
  /** Milliseconds since 1970. */
  readonly timeOf: (id: string) => number;
  /** The least id of a time, ms since 1970. */
  readonly at: (ms: number) => string;
}

/** The read cursors of a channel in memory, and which of them are not on disk yet. A cursor only moves forward. */
export class ReadCursors {
  readonly #ids: IdOrder;
  readonly #readTo: Map<string, string>;
  readonly #moved = new Set<string>();

  constructor(known: ReadonlyMap<string, string>, ids: IdOrder) {
    this.#readTo = new Map(known);
    this.#ids = ids;
  }

  /** All places; the one whose cursor moved last is at the end. */
  get places(): readonly string[] {
    return [...this.#readTo.keys()];
  }

  get newest(): string | undefined {
    return [...this.#readTo.values()].toSorted(this.#ids.compare).at(-1);
  }

  of(place: string): string | undefined {
    return this.#readTo.get(place);
  }

  isFurther(place: string, id: string): boolean {
    const known = this.#readTo.get(place);
    return known === undefined || this.#ids.compare(id, known) > 0;
  }

  move(place: string, id: string): void {
    if (!this.isFurther(place, id)) return;
    this.#readTo.delete(place);
    this.#readTo.set(place, id);
    this.#moved.add(place);
    const [oldest] = this.#readTo.keys();
    if (this.#readTo.size > MOST_CURSORS && oldest !== undefined) this.#readTo.delete(oldest);
  }

  /** Moves a cursor that was stored together with its messages. */
  moveWritten(place: string, id: string): void {
    this.move(place, id);
    this.#moved.delete(place);
  }

  /** Takes the cursors that are not on disk yet. The caller stores them, or returns them with `giveBack`. */
  takeMoved(): readonly ReadUpTo[] {
    const cursors = [...this.#moved].map((place) => ({ place, last: this.#readTo.get(place) ?? this.#ids.at(0) }));
    this.#moved.clear();
    return cursors;
  }

  giveBack(cursors: readonly ReadUpTo[]): void {
    for (const { place } of cursors) this.#moved.add(place);
  }
}

/** The places whose messages may have been missed. Each gap has a number, so that one that opens while another is fetched stays. */
export class Gaps {
  readonly #open = new Map<string, number>();
  #count = 0;

  get size(): number {
    return this.#open.size;
  }

  /** In the order in which they first opened. */
  get places(): readonly string[] {
    return [...this.#open.keys()];
  }

  has(place: string): boolean {
    return this.#open.has(place);
  }

  /** The number of the newest gap of a place. */
  of(place: string): number | undefined {
    return this.#open.get(place);
  }

  open(place: string): void {
    this.#count += 1;
    this.#open.set(place, this.#count);
  }

  /** Closes the gap of a place; with a number only if no newer one opened. */
  close(place: string, gap = this.of(place)): void {
    if (this.of(place) === gap) this.#open.delete(place);
  }
}
