import type { EntryOf, TapeEntry } from './entry.ts';
import { summaryWithoutRefused } from './refused-content.ts';

/** A summary that replaces older entries in the history. */
export interface Summary {
  /** Id of the entry that has it: an anchor, or a trim that copied it. */
  readonly entryId: string;
  readonly text: string;
  /** Id of the last entry that it replaces. */
  readonly upTo: string;
  readonly untrusted: boolean;
  readonly private: boolean;
  /** Roles of the turns that it sums up. */
  readonly authors: readonly string[];
}

/** The part of a tape from which the history is made. */
export interface Window {
  /** Oldest first, without gaps and repeated ids, from the boundary on. */
  readonly entries: readonly TapeEntry[];
  /** Index of the first entry that is in the history. */
  readonly from: number;
  /** Kind of the entry that set the beginning; `start`: none did, all entries are in the window. */
  readonly boundary: 'start' | 'reset' | 'anchor' | 'trim';
  readonly summary: Summary | null;
  readonly trim: EntryOf<'trim'> | null;
}

/**
 * Finds how far back a history goes, from the newest entry to older ones: to the last reset (or the beginning of the turn
 * in which it was written), to the `upTo` of the last anchor, or to a `dropUpTo`. An anchor whose `upTo` is not on the tape
 * is ignored, because the entries that it replaces are still in the window.
 */
export class WindowScan {
  readonly #newestFirst: (TapeEntry | undefined)[] = [];
  readonly #positions = new Map<string, number>();
  readonly #anchors: EntryOf<'anchor'>[] = [];
  readonly #trims: EntryOf<'trim'>[] = [];
  /** The newest entry that has the summary of the dropped entries. */
  #carrier: EntryOf<'anchor' | 'trim'> | undefined;
  /** How many entries are in the history; undefined until a boundary is found. */
  #inside: number | undefined;
  #boundary: Window['boundary'] = 'start';
  /** Id of the turn in which the last reset was written. */
  #resetIn: string | undefined;
  #summary: Summary | null = null;

  /** Takes the next older entry. False: no older entry is needed. */
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
    const entries = [...outside, ...history];
    return {
      entries,
      from: outside.length,
      boundary: this.#boundary,
      summary: summaryWithoutRefused(this.#summary, entries),
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

  /** Looks further back for the summary of dropped entries. False: it was found, or there is none. */
  #seekSummary(entry: TapeEntry): boolean {
    return entry.kind !== 'reset' && !this.#carriesSummary(entry);
  }

  #carriesSummary(entry: TapeEntry | undefined): boolean {
    if (entry === undefined || !isCarrier(entry)) return false;
    this.#summary = entry.kind === 'anchor' ? summaryOfAnchor(entry) : summaryOfTrim(entry);
    return true;
  }
}

/** Whether an entry says which summary, or that none, replaces the entries before it. */
function isCarrier(entry: TapeEntry): entry is EntryOf<'anchor' | 'trim'> {
  return entry.kind === 'anchor' || (entry.kind === 'trim' && entry.dropUpTo !== null && entry.summary !== undefined);
}

/** Whether an entry can move the beginning of the window. */
export function isBoundary(entry: TapeEntry): boolean {
  return entry.kind === 'reset' || entry.kind === 'anchor' || entry.kind === 'trim';
}

/** Whether an entry changes messages of the history that came before it. */
export function isTurningPoint(entry: TapeEntry): boolean {
  return isBoundary(entry) || entry.kind === 'retract';
}

function summaryOfAnchor(anchor: EntryOf<'anchor'>): Summary {
  return { entryId: anchor.id, text: anchor.summary, upTo: anchor.upTo, ...taintOf(anchor) };
}

function summaryOfTrim(trim: EntryOf<'trim'>): Summary | null {
  if (typeof trim.summary !== 'string' || trim.dropUpTo === null) return null;
  return { entryId: trim.id, text: trim.summary, upTo: trim.dropUpTo, ...taintOf(trim) };
}

function taintOf(entry: TapeEntry): Pick<Summary, 'untrusted' | 'private' | 'authors'> {
  return { untrusted: entry.untrusted === true, private: entry.private === true, authors: entry.authors ?? [] };
}
