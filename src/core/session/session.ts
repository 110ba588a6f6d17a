import type { AppendDurability } from '../storage/files.ts';
import type { EntryDraft, EntryOf, TapeEntry } from './entry.ts';
import { type FoldOptions, type History, HistoryFold, turnEntries } from './history.ts';
import { isYounger, readTail, shrinkTail, type Tail } from './tape-tail.ts';
import type { Tape } from './tape.ts';
import { isBoundary, isTurningPoint, WindowScan } from './history-window.ts';

interface SessionOptions extends FoldOptions {
  readonly key: string;
  readonly tape: Tape;
  readonly tail: Tail;
  /** Called before each append, so that the owner of the session knows when it was last used. */
  readonly onUse: () => void;
}

/**
 * One conversation: its tape on disk, and in memory the newest part of it, which the history and the newest turn need.
 * Opened by `Sessions`, which has one object for each key.
 */
export class Session {
  readonly key: string;
  readonly #options: SessionOptions;
  /** Grows in place: a copy for each append would cost more with each turn. Never handed out. */
  #entries: TapeEntry[];
  #windowFrom: number;
  readonly #known: Map<string, TapeEntry>;
  #fold: HistoryFold | undefined;
  #history: History | undefined;
  #window: readonly TapeEntry[] | undefined;
  #turningPoint: string | undefined;

  constructor(options: SessionOptions) {
    this.key = options.key;
    this.#options = options;
    this.#entries = [...options.tail.entries];
    this.#windowFrom = options.tail.windowFrom;
    this.#known = new Map(this.#entries.map((entry) => [entry.id, entry]));
    this.#turningPoint = this.window.findLast(isTurningPoint)?.id;
  }

  /** Id of the newest entry of the window that changes earlier messages; undefined: none does. */
  get turningPoint(): string | undefined {
    return this.#turningPoint;
  }

  /** The entries from the boundary (reset, anchor, trim) at which the history begins, oldest first. */
  get window(): readonly TapeEntry[] {
    this.#window ??= this.#entries.slice(this.#windowFrom);
    return this.#window;
  }

  /**
   * Appends drafts in one write and returns their entries. Resolves when they, and all before them, are as durable as
   * `durability` says: by default they survive a power loss. A draft whose id is in memory already is not written again.
   * When it rejects, the history is unchanged, and the append can be repeated.
   */
  async append(drafts: readonly EntryDraft[], durability: AppendDurability = 'durable'): Promise<readonly TapeEntry[]> {
    this.#options.onUse();
    const repeated = drafts.map((draft) => (draft.id === undefined ? undefined : this.#known.get(draft.id)));
    const fresh = drafts.filter((_, index) => repeated[index] === undefined);
    const complete: EntryDraft[] = [];
    for (const draft of fresh) complete.push(this.#withSummary(draft, complete));
    const written = await this.#options.tape.append(complete, durability);
    this.#remember(written);
    const rest = [...written];
    return repeated.flatMap((entry) => entry ?? rest.splice(0, 1));
  }

  /** The transcript for the model. Cached until the next append. */
  history(): History {
    this.#fold ??= new HistoryFold(this.window.toReversed(), this.#options);
    this.#history ??= this.#fold.history();
    return this.#history;
  }

  /** The entries of a turn, oldest first: complete for the newest turn and for the one of `Sessions.open`, else what is in memory. */
  turn(turnId: string): readonly TapeEntry[] {
    return turnEntries(this.#entries, turnId);
  }

  /** The `turn-start` of the newest turn; undefined when there is none in memory. */
  newestStart(): EntryOf<'turn-start'> | undefined {
    return this.#entries.findLast((entry) => entry.kind === 'turn-start');
  }

  /** The id of the newest entry; undefined on an empty tape. */
  get newestId(): string | undefined {
    return this.#entries.at(-1)?.id;
  }

  /** Reads the whole tape from the disk, newest entry first, as it is iterated; `onRead` gets the bytes of each read. */
  backwards(options: { readonly onRead?: (bytes: number) => void } = {}): AsyncGenerator<TapeEntry> {
    return this.#options.tape.entriesBackwards(options);
  }

  /** Reads the tape back until the whole turn is in memory. Reads nothing for a turn that has not begun. */
  async reach(turnId: string): Promise<void> {
    if (isYounger(turnId, this.#entries)) return;
    if (this.turn(turnId).some((entry) => entry.kind === 'turn-start')) return;
    const tail = await readTail(this.#options.tape.entriesBackwards(), turnId);
    // The turn is not on the tape: what was read is not kept in memory.
    if (!tail.entries.some((entry) => entry.turn === turnId)) return;
    const read = new Set(tail.entries.map((entry) => entry.id));
    // Entries that were appended during the read are in memory only.
    const since = this.#entries.slice(this.#entries.findLastIndex((entry) => read.has(entry.id)) + 1);
    for (const entry of tail.entries) if (!this.#known.has(entry.id)) this.#known.set(entry.id, entry);
    this.#entries = [...tail.entries, ...since];
    const needed = shrinkTail(this.#entries);
    this.#windowFrom = this.#entries.length - (needed.entries.length - needed.windowFrom);
    this.#window = undefined;
    this.#turningPoint = this.window.findLast(isTurningPoint)?.id;
    this.#fold = undefined;
    this.#history = undefined;
  }

  /** Deletes the oldest turns of a long tape, see `Tape.dropOldest`; the history must need much less than `keptBytes`. */
  dropOldest(keptBytes: number): Promise<number> {
    return this.#options.tape.dropOldest(keptBytes);
  }

  /** What another program did to the open file, see `AppendFile.damage`. */
  damage(): Promise<string | null> {
    return this.#options.tape.damage();
  }

  /** Closes the file handle; the next append opens it again. */
  rest(): Promise<void> {
    return this.#options.tape.rest();
  }

  close(): Promise<void> {
    return this.#options.tape.close();
  }

  /**
   * Says in an anchor whose turns it sums up. Copies the present summary and its taint into a trim that drops entries, so
   * that later reads need not go back to the anchor. `ahead`: the drafts before it in the same append.
   */
  #withSummary(draft: EntryDraft, ahead: readonly EntryDraft[]): EntryDraft {
    if (draft.kind === 'anchor') return { ...draft, authors: [...this.history().authors] };
    if (draft.kind !== 'trim' || draft.dropUpTo === null || draft.summary !== undefined) return draft;
    const scan = new WindowScan();
    const together = [...ahead, draft].map((entry, at): TapeEntry => ({ v: 1, id: `ahead-${at}`, at: 0, ...entry }));
    for (const entry of [...this.#entries, ...together].toReversed()) if (!scan.take(entry)) break;
    const { boundary, summary } = scan.finish();
    // `dropUpTo` is no longer in the history, so the trim drops nothing.
    if (boundary !== 'trim') return draft;
    if (summary === null) return { ...draft, summary: null };
    return {
      ...draft,
      summary: summary.text,
      ...(summary.untrusted ? { untrusted: true } : {}),
      ...(summary.private ? { private: true } : {}),
      ...(summary.authors.length === 0 ? {} : { authors: [...summary.authors] }),
    };
  }

  #remember(written: readonly TapeEntry[]): void {
    const added = written.filter((entry) => {
      if (this.#known.has(entry.id)) return false;
      this.#known.set(entry.id, entry);
      return true;
    });
    if (added.length === 0) return;
    this.#entries.push(...added);
    this.#turningPoint = added.findLast(isTurningPoint)?.id ?? this.#turningPoint;
    this.#window = undefined;
    this.#history = undefined;
    if (this.#fold?.extend(added) === false) this.#fold = undefined;
    if (!added.some(isBoundary)) return;
    const tail = shrinkTail(this.#entries);
    this.#entries = [...tail.entries];
    this.#windowFrom = tail.windowFrom;
    this.#known.clear();
    for (const entry of tail.entries) this.#known.set(entry.id, entry);
  }
}
