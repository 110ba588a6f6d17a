/** Three characters of six bits and a bit. */
const MASK = (1 << 18) - 1;
/** So many characters make the key of a start. */
const KEY_LENGTH = 3;

/** Finds in one pass where one of many texts may begin: by its first three characters, upper case as lower case. */
export class StartIndex<Entry> {
  readonly #isUsed = new Uint8Array((MASK + 1) / 8);
  readonly #entries = new Map<number, Entry[]>();

  /** `start` has at least three characters. Entries of the same place come in the order in which they were added. */
  add(start: string, entry: Entry): void {
    let key = 0;
    for (let i = 0; i < KEY_LENGTH; i += 1) key = next(key, start.charCodeAt(i));
    const there = this.#entries.get(key) ?? [];
    if (!there.includes(entry)) this.#entries.set(key, [...there, entry]);
    this.#isUsed[key >> 3] = (this.#isUsed[key >> 3] ?? 0) | (1 << (key & 7));
  }

  /** Visits each place from `from` on where something may begin; other things may begin there too. */
  visit(text: string, from: number, visit: (at: number, entries: readonly Entry[]) => void): void {
    const isUsed = this.#isUsed;
    const first = from + KEY_LENGTH - 1;
    let key = 0;
    for (let i = from; i < text.length; i += 1) {
      key = next(key, text.charCodeAt(i));
      if (((isUsed[key >> 3] ?? 0) & (1 << (key & 7))) !== 0 && i >= first)
        visit(i - KEY_LENGTH + 1, this.#entries.get(key) ?? []);
    }
  }
}

/** Holds nothing of what was more than three characters ago. */
function next(key: number, code: number): number {
  return ((key << 6) ^ (code | 0x20)) & MASK;
}
