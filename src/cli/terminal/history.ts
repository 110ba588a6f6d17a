/** Where earlier entries come from, and where new ones go. */
export interface InputHistory {
  /** Oldest first. */
  readonly entries: readonly string[];
  add(text: string): void;
}

/** One that lasts as long as the conversation. */
export function shortHistory(): InputHistory {
  const entries: string[] = [];
  return { entries, add: (text) => void entries.push(text) };
}

/** Walks through earlier entries and back to the draft, and searches in them. */
export class HistoryWalk {
  readonly #history: InputHistory;
  /** The entry that is shown; as many as there are: the draft. */
  #at: number;
  #draft = '';

  constructor(history: InputHistory) {
    this.#history = history;
    this.#at = history.entries.length;
  }

  /** The entry before the one that is shown; undefined at the oldest. */
  back(shown: string): string | undefined {
    const { entries } = this.#history;
    if (this.#at === 0) return undefined;
    if (this.#at >= entries.length) this.#draft = shown;
    this.#at = Math.min(this.#at, entries.length) - 1;
    return entries[this.#at];
  }

  /** The entry after it, at last the draft; undefined there. */
  forward(): string | undefined {
    const { entries } = this.#history;
    if (this.#at >= entries.length) return undefined;
    this.#at += 1;
    return entries[this.#at] ?? this.#draft;
  }

  /** What was entered last is the newest. */
  add(text: string): void {
    this.#history.add(text);
    this.#at = this.#history.entries.length;
    this.#draft = '';
  }

  /** The newest entry that holds `query`, or of these the one that comes `skip` places before it. */
  find(query: string, skip: number): string | undefined {
    if (query === '') return undefined;
    const found = this.#history.entries.filter((entry) => entry.toLowerCase().includes(query.toLowerCase()));
    return [...new Set(found.toReversed())][skip];
  }
}
