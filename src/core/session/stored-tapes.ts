import { open as openFile, readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import * as z from 'zod';
import type { OpenAppend } from '../storage/append-file.ts';
import { ensureDirectory, ifThere, quarantine, replaceDurable } from '../storage/files.ts';
import { type Clock, deadline, raceAbort } from '../util/clock.ts';
import { AppError, errorMessage } from '../util/errors.ts';
import type { Logger } from '../util/log.ts';
import { misfit } from '../util/misfit.ts';
import { listTapes } from './reader.ts';
import { tapeName } from './tape-name.ts';

/**
 * A place beside the home that keeps the tape of each session, such as a database on another machine. The assistant reads the
 * files of the home; what it appends to them counts as written when the store has it too. Each call is given 30 s; an error that
 * is thrown means that nothing is known of what the call did.
 */
export interface TapeStore {
  /** Every tape that it has; `size` in bytes. */
  list: (signal: AbortSignal) => Promise<readonly { readonly key: string; readonly size: number }[]>;
  /** Exactly `length` bytes of a tape from byte `from` on. No more are asked for than it has. */
  read: (
    part: { readonly key: string; readonly from: number; readonly length: number },
    signal: AbortSignal,
  ) => Promise<Uint8Array>;
  /**
   * From byte `at` on the tape is `bytes`, and what it had there is gone; it resolves when that outlives a power loss. `at` is at
   * most the length of the tape, 0 for a new one. At most 4 MiB, which may begin and end inside of a line.
   */
  write: (
    part: { readonly key: string; readonly at: number; readonly bytes: Uint8Array },
    signal: AbortSignal,
  ) => Promise<void>;
  /** Deletes a tape; one that it does not have is no error. */
  remove: (key: string, signal: AbortSignal) => Promise<void>;
}

/** From byte `at` on the tape is `bytes`. */
type TapePart = Parameters<TapeStore['write']>[0];

export interface StoredTapesOptions {
  readonly store: TapeStore;
  /** Whose it is, for the person who reads that it fails, e.g. `the plugin "x"`. */
  readonly owner: string;
  /**
   * Given when it is the database that keeps the whole home: resolves when that takes writes. A failure of the store is that of
   * the database then (`home-store-failed`).
   */
  readonly probeDatabase?: () => Promise<void>;
  /**
   * Given when that database keeps the journal too: like `write` of the store, but the database has it at the latest when it has the
   * journal's next commit.
   */
  readonly writeWithJournal?: (part: TapePart) => void;
  /** Absolute path of the folder with the tapes. */
  readonly directory: string;
  /** Absolute path of the folder for what the store replaces. */
  readonly quarantine: string;
  readonly clock: Clock;
  readonly log: Logger;
}

const CALL_MS = 30_000;
const PART_BYTES = 4 * 1024 * 1024;
/** By these last bytes of the shorter one, a tape here and its copy in the store are taken for the same tape. */
const COMPARED_BYTES = 4096;

const listShape = z.array(z.looseObject({ key: z.string().min(1), size: z.int().nonnegative() }));

/**
 * The tapes of a home that a `TapeStore` keeps too. Each rejects with `tape-store-failed`, or `home-store-failed`, when the store
 * fails.
 */
export class StoredTapes {
  readonly #options: StoredTapesOptions;
  /** How many bytes of each tape the store has for certain. */
  readonly #sizes = new Map<string, number>();
  /** Tapes of which the store may have more than is known, because a write failed. */
  readonly #unsure = new Set<string>();
  /** Tapes of which the database has a part only with the journal's next commit. */
  readonly #left = new Set<string>();

  constructor(options: StoredTapesOptions) {
    this.#options = options;
  }

  /**
   * Brings the files of the home to what the store has, before a session is opened: a missing file or one that is too short is
   * completed, one that is another tape goes to the quarantine. A file that is longer stays; `behind` tells of it.
   */
  async fetch(): Promise<void> {
    const { directory, log } = this.#options;
    const listed = await this.#call('list', (store, signal) => store.list(signal), listShape);
    await ensureDirectory(directory);
    let completed = 0;
    for (const { key, size } of listed) {
      this.#sizes.set(key, size);
      if (await this.#complete(key, size)) completed += 1;
    }
    log.info('session: tapes compared with their store', {
      store: this.#options.owner,
      tapes: listed.length,
      completed,
    });
  }

  /** The sessions of which the home has more than the store; an append to each brings it there. */
  async behind(): Promise<readonly string[]> {
    const tapes = await listTapes(this.#options.directory);
    return tapes.filter(({ key, size }) => size > this.#sizeOf(key)).map(({ key }) => key);
  }

  /** Opens the file of a tape so that each of its syncs waits for the store as well. */
  opening(key: string, open: OpenAppend): OpenAppend {
    return async (path) => {
      const handle = await open(path);
      const size = await handle.size();
      const appended = new Appended(size);
      // Cut, or without its oldest turns: the store has it anew with the next sync.
      if (size < this.#sizeOf(key)) this.#sizes.set(key, 0);
      return {
        ...handle,
        write: async (bytes) => {
          const written = await handle.write(bytes);
          appended.add(bytes.subarray(0, written));
          return written;
        },
        datasync: async () => {
          await handle.datasync();
          await this.#send(key, path, appended);
        },
        leaveToJournal: async () => {
          await handle.datasync();
          if (!this.#leave(key, appended)) await this.#send(key, path, appended);
        },
        truncate: async (size) => {
          await handle.truncate(size);
          appended.restart(size);
          if (size < this.#sizeOf(key)) this.#sizes.set(key, size);
        },
      };
    };
  }

  async remove(key: string): Promise<void> {
    await this.#call('remove', (store, signal) => store.remove(key, signal));
    this.#sizes.delete(key);
    this.#unsure.delete(key);
    this.#left.delete(key);
  }

  /** Resolves when the store takes writes. What failed is taken back, so that it is known what the store has. */
  async probe(): Promise<void> {
    await this.#options.probeDatabase?.();
    for (const key of this.#unsure) await this.#write(key, this.#sizeOf(key), new Uint8Array());
    await this.#call('list', (store, signal) => store.list(signal), listShape);
  }

  #sizeOf(key: string): number {
    return this.#sizes.get(key) ?? 0;
  }

  /** False: it has to be sent. */
  #leave(key: string, appended: Appended): boolean {
    const { writeWithJournal } = this.#options;
    const at = this.#sizeOf(key);
    const bytes = appended.since(at);
    if (writeWithJournal === undefined || bytes === null || this.#unsure.has(key)) return false;
    if (bytes.length === 0) return true;
    writeWithJournal({ key, at, bytes });
    this.#left.add(key);
    this.#sizes.set(key, at + bytes.length);
    appended.restart(at + bytes.length);
    return true;
  }

  async #send(key: string, path: string, appended: Appended): Promise<void> {
    const at = this.#sizeOf(key);
    const bytes = appended.since(at);
    if (bytes === null || this.#unsure.has(key)) {
      await this.#sendFile(key, path);
    } else if (bytes.length > 0 || this.#left.has(key)) {
      await this.#write(key, at, bytes);
      this.#sizes.set(key, at + bytes.length);
    }
    appended.restart(this.#sizeOf(key));
  }

  async #sendFile(key: string, path: string): Promise<void> {
    await using file = await openFile(path, 'r');
    const { size } = await file.stat();
    if (this.#unsure.has(key)) await this.#write(key, this.#sizeOf(key), new Uint8Array());
    for (let at = this.#sizeOf(key); at < size;) {
      const part = Buffer.allocUnsafe(Math.min(PART_BYTES, size - at));
      const { bytesRead } = await file.read(part, 0, part.length, at);
      await this.#write(key, at, part.subarray(0, bytesRead));
      at += bytesRead;
      this.#sizes.set(key, at);
    }
  }

  async #write(key: string, at: number, bytes: Uint8Array): Promise<void> {
    try {
      await this.#call('write', (store, signal) => store.write({ key, at, bytes }, signal));
      this.#unsure.delete(key);
      this.#left.delete(key);
    } catch (error) {
      this.#unsure.add(key);
      throw error;
    }
  }

  /** True: the file was changed. */
  async #complete(key: string, size: number): Promise<boolean> {
    const { directory, log, quarantine: folder } = this.#options;
    const path = join(directory, tapeName(key));
    const local = (await ifThere(stat(path)))?.size ?? 0;
    if (local === size) return false;
    const here = local === 0 ? Buffer.alloc(0) : await readFile(path);
    const shared = Math.min(local, size);
    const from = Math.max(0, shared - COMPARED_BYTES);
    const theirs = shared === 0 ? Buffer.alloc(0) : await this.#read(key, from, shared);
    const isSame = here.subarray(from, shared).equals(theirs);
    if (isSame && local > size) return false;
    if (!isSame) {
      const kept = await quarantine(folder, `${basename(path)}.not-in-store`, here);
      log.warn('session: a tape was replaced by that of its store', { session: key, kept });
    }
    const start = isSame ? here : Buffer.alloc(0);
    await replaceDurable(path, Buffer.concat([start, await this.#read(key, start.length, size)]));
    return true;
  }

  async #read(key: string, from: number, to: number): Promise<Buffer> {
    const parts: Uint8Array[] = [];
    for (let at = from; at < to;) {
      const length = Math.min(PART_BYTES, to - at);
      const part = { key, from: at, length };
      const shape = z.instanceof(Uint8Array).refine((bytes) => bytes.length === length, `${length} bytes`);
      parts.push(await this.#call('read', (store, signal) => store.read(part, signal), shape));
      at += length;
    }
    return Buffer.concat(parts);
  }

  async #call<T>(
    name: keyof TapeStore,
    call: (store: TapeStore, signal: AbortSignal) => Promise<T>,
    shape?: z.ZodType,
  ): Promise<T> {
    const { store, clock, owner } = this.#options;
    using limit = deadline(clock, CALL_MS, name);
    try {
      // A plugin may throw at once, or return what is no promise.
      const result = await raceAbort((async () => await call(store, limit.signal))(), limit.signal);
      const wrong = shape === undefined ? null : misfit(result, shape, 'its result');
      if (wrong !== null) throw new Error(wrong);
      return result;
    } catch (error) {
      if (this.#options.probeDatabase !== undefined) throw new AppError('home-store-failed', errorMessage(error));
      // Not as a cause: an error code of the store would be taken for one of the disk here.
      throw new AppError('tape-store-failed', `${owner} failed to ${name}: ${errorMessage(error)}`);
    }
  }
}

/** The end of an open tape, in memory as it was appended, so that it need not be read again. */
class Appended {
  #from: number;
  #length = 0;
  #parts: Uint8Array[] = [];

  /** `size`: bytes of the tape. */
  constructor(size: number) {
    this.#from = size;
  }

  add(bytes: Uint8Array): void {
    this.#parts.push(bytes);
    this.#length += bytes.length;
    if (this.#length > PART_BYTES) this.restart(this.#from + this.#length);
  }

  /** The tape ends at this byte, and of what is before nothing is kept. */
  restart(size: number): void {
    this.#from = size;
    this.#length = 0;
    this.#parts = [];
  }

  /** What the tape has from this byte on; null: not all of it is in memory. */
  since(at: number): Uint8Array | null {
    const from = at - this.#from;
    return from < 0 || from > this.#length ? null : Buffer.concat(this.#parts).subarray(from);
  }
}
