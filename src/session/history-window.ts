import type { EntryOf, TapeEntry } from './entry.ts';

/** A summary that stands for what is out of the history. */
export interface Summary {
  /** The entry that carries it: an anchor, or a trim that took it over. */
  readonly entryId: string;
  readonly text: string;
  /** The last entry it stands for. */
  readonly upTo: string;
  readonly untrusted: boolean;
  readonly private: boolean;
}

/** The part of a tape that its history is made of. */
export interface Window {
  /** Oldest first, without gaps and repeated ids; the boundary it begins at is the first one. */
  readonly entries: readonly TapeEntry[];
  /** Index of the first entry that is in the history. */
  readonly from: number;
  /** Why it begins there; `start`: everything that was given is in it. */
  readonly boundary: 'start' | 'reset' | 'anchor' | 'trim';
  readonly summary: Summary | null;
  readonly trim: EntryOf<'trim'> | null;
}

/**
 * Finds how far back a history goes, entry by entry from the newest to older ones: to the last reset (to the beginning
 * of its turn, when it was written in one), to the `upTo` of the last anchor, or to a `dropUpTo`. An anchor whose
 * `upTo` is not on the tape is ignored, since then everything it stands for is still in the window.
 */
export class WindowScan {
  readonly #newestFirst: (TapeEntry | undefined)[] = [];
  readonly #positions = new Map<string, number>();
  readonly #anchors: EntryOf<'anchor'>[] = [];
  readonly #trims: EntryOf<'trim'>[] = [];
  /** The newest entry that says which summary stands for what is dropped. */
  #carrier: EntryOf<'anchor' | 'trim'> | undefined;
  /** How many of the entries, newest first, are in the history; undefined while no boundary was found. */
  #inside: number | undefined;
  #boundary: Window['boundary'] = 'start';
  /** The turn that the last reset was written in. */
  #resetIn: string | undefined;
  #summary: Summary | null = null;

  /** Takes the next older entry; false when nothing older matters any more. */
  take(entry: TapeEntry): boolean {
    const repeated = this.#positions.get(entry.id);
    if (repeated !== undefined) this.#newestFirst[repeated] = undefined;
    this.#positions.set(entry.id, this.#newestFirst.length);
    this.#newestFirst.push(entry);
    return this.#inside === undefined ? this.#extend(entry) : this.#seekSummary(entry);
  }

  finish(): Window {
    const inside = this.#inside ?? this.#newestFirst.length;
    const isEntry = (entry: TapeEntry | undefined): entry is TapeEntry => entry !== undefined;
    const outside = this.#newestFirst.slice(inside).filter(isEntry).reverse();
    const history = this.#newestFirst.slice(0, inside).filter(isEntry).reverse();
    return {
      entries: [...outside, ...history],
      from: outside.length,
      boundary: this.#boundary,
      summary: this.#summary,
      trim: this.#trims[0] ?? null,
    };
  }

  #extend(entry: TapeEntry): boolean {
    if (this.#resetIn !== undefined && entry.turn !== null && entry.turn !== this.#resetIn) {
      return this.#end('reset', null);
    }
    if (entry.kind === 'reset') {
      if (entry.turn === null) return this.#end('reset', null);
      this.#resetIn = entry.turn;
    }
    if (entry.kind === 'turn-start' && entry.turn === this.#resetIn) return this.#end('reset', null);
    if (entry.kind === 'anchor') this.#anchors.push(entry);
    if (entry.kind === 'trim') this.#trims.push(entry);
    if (isCarrier(entry)) this.#carrier ??= entry;
    const anchor = this.#anchors.find((known) => known.upTo === entry.id);
    if (anchor !== undefined) return this.#end('anchor', summaryOfAnchor(anchor));
    if (!this.#trims.some((known) => known.dropUpTo === entry.id)) return true;
    this.#end('trim', null);
    return !this.#carriesSummary(this.#carrier);
  }

  #end(boundary: Window['boundary'], summary: Summary | null): false {
    this.#inside = this.#newestFirst.length - 1;
    this.#boundary = boundary;
    this.#summary = summary;
    return false;
  }

  /** Entries were dropped and nothing seen so far says which summary stands for them: it is further back. */
  #seekSummary(entry: TapeEntry): boolean {
    return entry.kind !== 'reset' && !this.#carriesSummary(entry);
  }

  #carriesSummary(entry: TapeEntry | undefined): boolean {
    if (entry === undefined || !isCarrier(entry)) return false;
    this.#summary = entry.kind === 'anchor' ? summaryOfAnchor(entry) : summaryOfTrim(entry);
    return true;
  }
}

/** Says which summary, if any, stands for what was said before it. */
function isCarrier(entry: TapeEntry): entry is EntryOf<'anchor' | 'trim'> {
  return entry.kind === 'anchor' || (entry.kind === 'trim' && entry.dropUpTo !== null && entry.summary !== undefined);
}

/** True for entries that may move the beginning of the window. */
export function isBoundary(entry: TapeEntry): boolean {
  return entry.kind === 'reset' || entry.kind === 'anchor' || entry.kind === 'trim';
}

function summaryOfAnchor(anchor: EntryOf<'anchor'>): Summary {
  return { entryId: anchor.id, text: anchor.summary, upTo: anchor.upTo, ...taintOf(anchor) };
}

function summaryOfTrim(trim: EntryOf<'trim'>): Summary | null {
  if (typeof trim.summary !== 'string' || trim.dropUpTo === null) return null;
  return { entryId: trim.id, text: trim.summary, upTo: trim.dropUpTo, ...taintOf(trim) };
}

function taintOf(entry: TapeEntry): { untrusted: boolean; private: boolean } {
  return { untrusted: entry.untrusted === true, private: entry.private === true };
}
