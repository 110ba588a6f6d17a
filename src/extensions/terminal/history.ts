/** The inputs of a person, earlier and new ones. */
export interface InputHistory {
  /** Oldest first. */
  readonly entries: readonly string[];
  add(text: string): void;
}

/** A history in memory, which ends with the conversation. */
export function shortHistory(): InputHistory {
  const entries: string[] = [];
  return { entries, add: (text) => void entries.push(text) };
}

/** Walks through earlier entries and back to the draft (the input that is not entered yet), and searches the entries. */
export class HistoryWalk {
  readonly #history: InputHistory;
  /** Index of the entry that is shown; the number of entries means the draft. */
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

  /** The entry after the one that is shown, after the newest the draft; undefined at the draft. */
  forward(): string | undefined {
    const { entries } = this.#history;
    if (this.#at >= entries.length) return undefined;
    this.#at += 1;
    return entries[this.#at] ?? this.#draft;
  }

  /** Adds an entry as the newest and starts an empty draft. */
  add(text: string): void {
    this.#history.add(text);
    this.#at = this.#history.entries.length;
    this.#draft = '';
  }

  /** The newest entry that contains `query`, ignoring case; `skip`: how many newer matches to leave out. */
  find(query: string, skip: number): string | undefined {
    if (query === '') return undefined;
    const found = this.#history.entries.filter((entry) => entry.toLowerCase().includes(query.toLowerCase()));
    return [...new Set(found.toReversed())][skip];
  }
}
