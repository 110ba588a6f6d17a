import type { Durability } from '../storage/files.ts';
import type { EntryDraft, EntryOf, TapeEntry } from './entry.ts';
import { type FoldOptions, type History, HistoryFold, turnEntries } from './history.ts';
import { isYounger, readTail, shrinkTail, type Tail } from './tape-tail.ts';
import type { Tape } from './tape.ts';
import { isBoundary, WindowScan } from './history-window.ts';

interface SessionOptions extends FoldOptions {
  readonly key: string;
  readonly tape: Tape;
  readonly tail: Tail;
  /** Called before each append. */
  readonly onUse: () => void;
}

/**
 * One conversation: its tape, and in memory the end of it that history and the newest turn are made of. Opened by
 * `Sessions`, which never gives out two of one key.
 */
export class Session {
  readonly key: string;
  readonly #options: SessionOptions;
  #entries: readonly TapeEntry[];
  #windowFrom: number;
  readonly #known: Map<string, TapeEntry>;
  #fold: HistoryFold | undefined;
  #history: History | undefined;
  #window: readonly TapeEntry[] | undefined;

  constructor(options: SessionOptions) {
    this.key = options.key;
    this.#options = options;
    this.#entries = options.tail.entries;
    this.#windowFrom = options.tail.windowFrom;
    this.#known = new Map(this.#entries.map((entry) => [entry.id, entry]));
  }

  /** Oldest first: the boundary that the history begins at, and all after it. */
  get window(): readonly TapeEntry[] {
    this.#window ??= this.#entries.slice(this.#windowFrom);
    return this.#window;
  }

  /**
   * Appends as one; resolves when it, and all before it, is as durable as asked for, by default through a power loss. A draft whose id is on the tape already (as far as it is in memory) is
   * not written again. When it rejects, nothing of it is in the history, and the next append works if the disk does.
   */
  async append(drafts: readonly EntryDraft[], durability: Durability = 'durable'): Promise<readonly TapeEntry[]> {
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

  /** The transcript for the model. */
  history(): History {
    this.#fold ??= new HistoryFold(this.window.toReversed(), this.#options);
    this.#history ??= this.#fold.history();
    return this.#history;
  }

  /** The entries of the newest turn, or of the one it was opened with; of other turns what is in memory. */
  turn(turnId: string): readonly TapeEntry[] {
    return turnEntries(this.#entries, turnId);
  }

  /** How the newest turn began; undefined when there is none in memory. */
  newestStart(): EntryOf<'turn-start'> | undefined {
    return this.#entries.findLast((entry) => entry.kind === 'turn-start');
  }

  /** The id of the newest entry; undefined on an empty tape. */
  get newestId(): string | undefined {
    return this.#entries.at(-1)?.id;
  }

  /** All that is on the tape, newest first, read from the disk as it is asked for; `onRead` is told of bytes. */
  backwards(options: { readonly onRead?: (bytes: number) => void } = {}): AsyncGenerator<TapeEntry> {
    return this.#options.tape.entriesBackwards(options);
  }

  /** Reads further back until the turn is in memory as a whole; a turn that has not begun costs nothing. */
  async reach(turnId: string): Promise<void> {
    if (this.turn(turnId).some((entry) => entry.kind === 'turn-start')) return;
    if (isYounger(turnId, this.#entries)) return;
    const tail = await readTail(this.#options.tape.entriesBackwards(), turnId);
    // All that was read on the way to a turn that is not there would stay in memory, and be looked through.
    if (!tail.entries.some((entry) => entry.turn === turnId)) return;
    const read = new Set(tail.entries.map((entry) => entry.id));
    // What was appended meanwhile is in memory only.
    const since = this.#entries.slice(this.#entries.findLastIndex((entry) => read.has(entry.id)) + 1);
    for (const entry of tail.entries) if (!this.#known.has(entry.id)) this.#known.set(entry.id, entry);
    this.#entries = [...tail.entries, ...since];
    const needed = shrinkTail(this.#entries);
    this.#windowFrom = this.#entries.length - (needed.entries.length - needed.windowFrom);
    this.#window = undefined;
    this.#fold = undefined;
    this.#history = undefined;
  }

  /** Gives the file handle back until the next append. */
  rest(): Promise<void> {
    return this.#options.tape.rest();
  }

  close(): Promise<void> {
    return this.#options.tape.close();
  }

  /**
   * A trim that drops entries takes over the summary of what was before and its taint: its anchor may be far back
   * later. `ahead`: what is appended with it, before it.
   */
  #withSummary(draft: EntryDraft, ahead: readonly EntryDraft[]): EntryDraft {
    if (draft.kind !== 'trim' || draft.dropUpTo === null || draft.summary !== undefined) return draft;
    const scan = new WindowScan();
    const together = [...ahead, draft].map((entry, at): TapeEntry => ({ v: 1, id: `ahead-${at}`, at: 0, ...entry }));
    for (const entry of [...this.#entries, ...together].toReversed()) if (!scan.take(entry)) break;
    const { boundary, summary } = scan.finish();
    // It names no entry that is still in the history, so it drops nothing.
    if (boundary !== 'trim') return draft;
    if (summary === null) return { ...draft, summary: null };
    return {
      ...draft,
      summary: summary.text,
      ...(summary.untrusted ? { untrusted: true } : {}),
      ...(summary.private ? { private: true } : {}),
    };
  }

  #remember(written: readonly TapeEntry[]): void {
    const added = written.filter((entry) => {
      if (this.#known.has(entry.id)) return false;
      this.#known.set(entry.id, entry);
      return true;
    });
    if (added.length === 0) return;
    this.#entries = [...this.#entries, ...added];
    this.#window = undefined;
    this.#history = undefined;
    if (this.#fold?.goOn(added) === false) this.#fold = undefined;
    if (!added.some(isBoundary)) return;
    const tail = shrinkTail(this.#entries);
    this.#entries = tail.entries;
    this.#windowFrom = tail.windowFrom;
    this.#known.clear();
    for (const entry of tail.entries) this.#known.set(entry.id, entry);
  }
}
