import type { ReadUpTo } from '../channel.ts';

/** Places whose cursor is remembered. */
const MOST_CURSORS = 5_000;

/** The order of a platform's message ids within one place, and the time that they hold. */
export interface IdOrder {
  readonly compare: (a: string, b: string) => number;
  /** The id just before it. */
  readonly before: (id: string) => string;
  /** Milliseconds since 1970. */
  readonly timeOf: (id: string) => number;
  /** The least id of that time. */
  readonly at: (ms: number) => string;
}

/** How far each place was read, and which of that is not on disk yet. A cursor only moves forward. */
export class ReadCursors {
  readonly #ids: IdOrder;
  readonly #readTo: Map<string, string>;
  readonly #moved = new Set<string>();

  constructor(known: ReadonlyMap<string, string>, ids: IdOrder) {
    this.#readTo = new Map(known);
    this.#ids = ids;
  }

  /** The one that was moved last is the last. */
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

  /** Moves one that is on disk already, with the messages up to it. */
  moveWritten(place: string, id: string): void {
    this.move(place, id);
    this.#moved.delete(place);
  }

  /** What moved since it was written; the caller writes it, or gives it back. */
  takeMoved(): readonly ReadUpTo[] {
    const cursors = [...this.#moved].map((place) => ({ place, last: this.#readTo.get(place) ?? this.#ids.at(0) }));
    this.#moved.clear();
    return cursors;
  }

  giveBack(cursors: readonly ReadUpTo[]): void {
    for (const { place } of cursors) this.#moved.add(place);
  }
}
