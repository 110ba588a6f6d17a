import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import type { Clock } from '../util/clock.ts';
import { AppError, errorCode, errorMessage } from '../util/errors.ts';
import type { IdFactory } from '../util/ids.ts';
import type { Logger } from '../util/log.ts';
import { AppendFile, type OpenAppend } from '../storage/append-file.ts';
import { type AppendDurability, quarantine, replaceDurable, truncateDurable } from '../storage/files.ts';
import { type LineOfFile, NEWLINE, readFirstLine, readFrom, readLinesBackwards } from '../storage/read-lines.ts';
import { type EntryDraft, entrySchema, type TapeEntry } from './entry.ts';

export interface TapeOptions {
  readonly path: string;
  /** The session's key, for the first line of a new tape. */
  readonly key: string;
  /** Absolute path of the folder for damaged bytes. */
  readonly quarantine: string;
  readonly clock: Clock;
  readonly newId: IdFactory;
  readonly log: Logger;
  /** The machine may have lost power while the tape was written, so parts that were not durable may be missing. @default false */
  readonly mayHaveLost?: boolean;
  /** @default the real disk */
  readonly openAppend?: OpenAppend;
}

/** Kinds that may be appended without being durable; every other one is, and so shows that all before it was. */
const LAZY_KINDS: ReadonlySet<TapeEntry['kind']> = new Set(['session', 'turn-start', 'note', 'message']);

/** `dropOldest` looks for the end of a turn within this many bytes after the place of the cut. */
const LONGEST_TURN = 1024 * 1024;

/**
 * The append-only JSONL file of one session, created by the first append. Its lines are never rewritten; only the tape of a
 * job or of the heartbeat, which would grow for ever, loses its oldest turns (`dropOldest`).
 */
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
   * Opens a tape; the file need not exist. Moves a torn last line, whose append never resolved, to the quarantine. With
   * `mayHaveLost` also everything from the first damaged line on that was not durable.
   */
  static async open(options: TapeOptions): Promise<Tape> {
    const tape = new Tape(options);
    await tape.#cutTornLine();
    if (options.mayHaveLost === true) await tape.#cutDamagedEnd();
    return tape;
  }

  /**
   * Gives the drafts version, id and time, and appends them in one write. Resolves when they, and all before them, are as
   * durable as `durability` says; entries of a kind that recovery takes for durable always are. Rejects with
   * `tape-entry-invalid`, before anything is written, when a draft does not fit the schema. After a failed append the tape is
   * as before.
   */
  async append(drafts: readonly EntryDraft[], durability: AppendDurability = 'durable'): Promise<readonly TapeEntry[]> {
    const lines = drafts.map((draft) => this.#line(draft));
    const text = lines.map((line) => line.text).join('');
    const isLazy = durability === 'lazy' && drafts.every(({ kind }) => LAZY_KINDS.has(kind));
    const needed = durability === 'lazy' && !isLazy ? 'durable' : durability;
    if (lines.length > 0 || !isLazy) await this.#file.append(Buffer.from(text), needed);
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

  /**
   * Deletes whole turns from the beginning of a tape that is longer than twice `keptBytes`, until about `keptBytes` are
   * left. Returns the deleted bytes; 0: the tape is not that long. Do not append meanwhile. A crash leaves the old tape or the new one.
   */
  async dropOldest(keptBytes: number): Promise<number> {
    const { path } = this.#options;
    const { size } = (await stat(path).catch(() => undefined)) ?? { size: 0 };
    if (size <= 2 * keptBytes) return 0;
    // Makes lazy appends durable first, because the file is replaced.
    await this.#file.append(new Uint8Array(), 'durable');
    const [header, end] = [await readFirstLine(path), await readFrom(path, size - keptBytes)];
    const from = endOfTurn(end);
    if (header === undefined || from === undefined) return 0;
    await this.#file.rest();
    const kept = Buffer.concat([header, Buffer.from('\n'), end.subarray(from)]);
    await replaceDurable(path, kept);
    return size - kept.length;
  }

  /** See `AppendFile.damage`. */
  damage(): Promise<string | null> {
    return this.#file.damage();
  }

  /** Closes the file handle; the next append opens it again. */
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
   * Cuts the tape at the first gap. After a power loss the disk may have later parts of what was not durable and miss
   * earlier ones; only the part before the first gap is a state that the tape once had. No tool ran because of the rest,
   * since effects wait until their intent, and all before it, is durable. An entry of a kind that is not lazy, followed by
   * another append, shows that everything before it was durable.
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

  /** Copies a damaged line to the quarantine. False: that failed, so the line must stay on the tape. */
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

/** Offset after the first `turn-end` line; undefined when there is none. `bytes` may begin inside a line. */
function endOfTurn(bytes: Buffer): number | undefined {
  let start = bytes.indexOf(NEWLINE) + 1;
  while (start > 0 && start < Math.min(bytes.length, LONGEST_TURN)) {
    const next = bytes.indexOf(NEWLINE, start) + 1;
    if (next === 0) return undefined;
    if (parseEntry(bytes.subarray(start, next - 1))?.kind === 'turn-end') return next;
    start = next;
  }
  return undefined;
}

/** The session that a tape belongs to, from its first line; undefined when that is damaged. */
export async function readTapeKey(path: string): Promise<string | undefined> {
  const line = await readFirstLine(path);
  const entry = line === undefined ? undefined : parseEntry(line);
  return entry?.kind === 'session' ? entry.key : undefined;
}

/** Parses a line of a tape; undefined when it is damaged. */
export function parseEntry(line: Buffer): TapeEntry | undefined {
  try {
    return entrySchema.safeParse(JSON.parse(line.toString('utf8'))).data;
  } catch {
    return undefined;
  }
}
