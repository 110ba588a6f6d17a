import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import type { Clock } from '../util/clock.ts';
import { AppError, errorCode, errorMessage } from '../util/errors.ts';
import type { IdFactory } from '../util/ids.ts';
import type { Logger } from '../util/log.ts';
import { AppendFile, type OpenAppend } from '../storage/append-file.ts';
import { quarantine, truncateDurable, type Durability } from '../storage/files.ts';
import { type LineOfFile, readFirstLine, readLinesBackwards } from '../storage/read-lines.ts';
import { type EntryDraft, entrySchema, type TapeEntry } from './entry.ts';

export interface TapeOptions {
  readonly path: string;
  /** The session's key, for the first line of a new tape. */
  readonly key: string;
  /** Folder that damaged bytes are kept in. */
  readonly quarantine: string;
  readonly clock: Clock;
  readonly newId: IdFactory;
  readonly log: Logger;
  /** The machine may have lost power as somebody wrote: of what was not durable, parts may be missing. @default false */
  readonly mayHaveLost?: boolean;
  /** @default the real disk */
  readonly openAppend?: OpenAppend;
}

/** What is appended without being durable, see `runTurn`; the first line comes with the first append. */
const LAZY_KINDS: ReadonlySet<TapeEntry['kind']> = new Set(['session', 'turn-start', 'message']);

/** The append-only file of one session. Made by its first append; what is on it is never rewritten. */
export class Tape {
  readonly #options: TapeOptions;
  readonly #file: AppendFile;

  private constructor(options: TapeOptions) {
    this.#options = options;
    this.#file = new AppendFile(options.path, {
      header: () => Buffer.from(this.#line({ kind: 'session', turn: null, key: options.key }).text),
      ...(options.openAppend === undefined ? {} : { open: options.openAppend }),
    });
  }

  /**
   * Opens a tape, there or not. A torn last line, which was never acknowledged, is moved to the quarantine; after a power
   * loss so is everything behind the first damaged line that was not durable yet.
   */
  static async open(options: TapeOptions): Promise<Tape> {
    const tape = new Tape(options);
    await tape.#cutTornLine();
    if (options.mayHaveLost === true) await tape.#cutDamagedEnd();
    return tape;
  }

  /**
   * Stamps the drafts and appends them as one; resolves when they, and all before them, are as durable as asked for. A draft that could not be read
   * back is refused before anything is written; after a failed append the tape goes on as before it.
   */
  async append(drafts: readonly EntryDraft[], durability: Durability = 'durable'): Promise<readonly TapeEntry[]> {
    const lines = drafts.map((draft) => this.#line(draft));
    const text = lines.map((line) => line.text).join('');
    if (lines.length > 0 || durability === 'durable') await this.#file.append(Buffer.from(text), durability);
    return lines.map((line) => line.entry);
  }

  /** The readable entries, newest first. A damaged line is copied to the quarantine, once, and left out. */
  async *entriesBackwards(options: { readonly onRead?: (bytes: number) => void } = {}): AsyncGenerator<TapeEntry> {
    const { onRead } = options;
    for await (const line of this.#linesBackwards(onRead)) {
      if (line.torn || line.bytes.length === 0) continue;
      const entry = parseEntry(line.bytes);
      if (entry === undefined) await this.#setAside(line, 'A damaged line of a tape is left out');
      else yield entry;
    }
  }

  /** Gives the file handle back until the next append. */
  rest(): Promise<void> {
    return this.#file.rest();
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  #line(draft: EntryDraft): { entry: TapeEntry; text: string } {
    const { clock, newId } = this.#options;
    const checked = entrySchema.safeParse({ v: 1, id: draft.id ?? newId(), at: clock.now(), ...draft });
    if (checked.success) return { entry: checked.data, text: `${JSON.stringify(checked.data)}\n` };
    const facts = { session: this.#options.key, kind: draft.kind, problem: checked.error.issues[0]?.path.join('.') };
    throw new AppError('tape-entry-invalid', `A ${draft.kind} entry could not be read back and was not written.`, {
      facts,
      cause: checked.error,
    });
  }

  async *#linesBackwards(onRead?: (bytes: number) => void): AsyncGenerator<LineOfFile> {
    const end = this.#file.size;
    const options = { ...(end === undefined ? {} : { end }), ...(onRead === undefined ? {} : { onRead }) };
    try {
      yield* readLinesBackwards(this.#options.path, options);
    } catch (error) {
      if (errorCode(error) !== 'ENOENT') throw error;
    }
  }

  async #cutTornLine(): Promise<void> {
    for await (const line of this.#linesBackwards()) {
      if (line.torn) await this.#cut(line, 'A torn last line of a tape is cut');
      return;
    }
  }

  /**
   * A disk that lost power may have later parts of what was not durable and miss earlier ones. Only what comes before the
   * first gap is a state that the tape ever had; nothing was done on the strength of the rest, because effects wait for
   * their intent to be durable, and all before it. An entry that is not written lazily shows that all before it was
   * durable as soon as another append follows it.
   */
  async #cutDamagedEnd(): Promise<void> {
    const read: Buffer[] = [];
    let damaged: LineOfFile | undefined;
    let lost = 0;
    let sawLazy = false;
    for await (const line of this.#linesBackwards()) {
      const entry = parseEntry(line.bytes);
      if (entry !== undefined && !LAZY_KINDS.has(entry.kind) && sawLazy) break;
      read.push(Buffer.concat([line.bytes, Buffer.from('\n')]));
      if (line.bytes.length === 0) continue;
      if (entry === undefined) {
        damaged = line;
        lost = read.length;
      } else if (LAZY_KINDS.has(entry.kind)) {
        sawLazy = true;
      }
    }
    if (damaged === undefined) return;
    const bytes = Buffer.concat(read.slice(0, lost).reverse());
    await this.#cut({ ...damaged, bytes }, 'The end of a tape is cut: a power loss left gaps in it');
  }

  async #cut(end: LineOfFile, what: string): Promise<void> {
    if (!(await this.#setAside(end, what))) return;
    try {
      await truncateDurable(this.#options.path, end.offset);
    } catch (error) {
      // The next append starts on a new line.
      this.#options.log.warn('session: the end of a file could not be cut', {
        ...this.#place(end),
        error: errorMessage(error),
      });
    }
  }

  /** False when the bytes could not be kept: they stay where they are. */
  async #setAside(line: LineOfFile, what: string): Promise<boolean> {
    const { path, quarantine: directory, log } = this.#options;
    const digest = createHash('sha256').update(line.bytes).digest('hex').slice(0, 12);
    try {
      const kept = await quarantine(directory, `${basename(path)}.${line.offset}.${digest}`, line.bytes);
      log.warn(what, { ...this.#place(line), kept });
      return true;
    } catch (error) {
      log.warn('session: a damaged line could not be kept', { ...this.#place(line), error: errorMessage(error) });
      return false;
    }
  }

  #place(line: LineOfFile): Record<string, unknown> {
    return { session: this.#options.key, path: this.#options.path, offset: line.offset, bytes: line.bytes.length };
  }
}

/** The session that a tape belongs to, from its first line; undefined when that is damaged. */
export async function readTapeKey(path: string): Promise<string | undefined> {
  const line = await readFirstLine(path);
  const entry = line === undefined ? undefined : parseEntry(line);
  return entry?.kind === 'session' ? entry.key : undefined;
}

/** The entry that a line holds; undefined when the line is damaged. */
function parseEntry(line: Buffer): TapeEntry | undefined {
  try {
    return entrySchema.safeParse(JSON.parse(line.toString('utf8'))).data;
  } catch {
    return undefined;
  }
}
