import { AppendFile } from './append-file.ts';
import { readIfExists, replaceDurable } from './files.ts';

/** Entries that are kept; the file holds at most twice as many. */
const MOST = 1_000;
/** Characters of one; a longer one is not kept. */
const LONGEST = 10_000;

export interface LineHistoryOptions {
  /** What must not be written down. */
  readonly isPrivate: (text: string) => boolean;
}

/**
 * What a person entered in a terminal, one JSON text per line, mode 0600. It is for convenience only: what the disk does
 * not take is forgotten.
 */
export class LineHistory implements AsyncDisposable {
  readonly #path: string;
  readonly #options: LineHistoryOptions;
  readonly #file: AppendFile;
  #entries: string[] = [];

  private constructor(path: string, options: LineHistoryOptions) {
    this.#path = path;
    this.#options = options;
    this.#file = new AppendFile(path);
  }

  /** Reads the file; one that is missing or cannot be read is empty. */
  static async open(path: string, options: LineHistoryOptions): Promise<LineHistory> {
    const history = new LineHistory(path, options);
    await history.#read().catch(() => {});
    return history;
  }

  /** Oldest first. */
  get entries(): readonly string[] {
    return this.#entries;
  }

  /** Remembers what was entered, once for repetitions; never throws. What is private, or begins with a space, is left out. */
  add(text: string): void {
    if (text.trim() === '' || text.startsWith(' ') || text === this.#entries.at(-1)) return;
    if (text.length > LONGEST || this.#options.isPrivate(text)) return;
    this.#entries = [...this.#entries, text].slice(-MOST);
    this.#file.append(Buffer.from(lineOf(text)), 'lazy').catch(() => {});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close().catch(() => {});
  }

  async #read(): Promise<void> {
    const lines = ((await readIfExists(this.#path)) ?? '').split('\n').filter((line) => line !== '');
    this.#entries = lines.flatMap(entryIn).slice(-MOST);
    if (lines.length > 2 * MOST) await replaceDurable(this.#path, this.#entries.map(lineOf).join(''));
  }
}

function lineOf(text: string): string {
  return `${JSON.stringify(text)}\n`;
}

function entryIn(line: string): readonly string[] {
  try {
    const entry: unknown = JSON.parse(line);
    return typeof entry === 'string' ? [entry] : [];
  } catch {
    return [];
  }
}
