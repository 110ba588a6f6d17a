import { writeSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { AppError } from '../util/errors.ts';
import { type AppendDurability, syncDirectory } from './files.ts';

/** The file operations that appending needs; tests replace them by a faulty disk. */
export interface AppendHandle {
  /** Bytes in the file. */
  size(): Promise<number>;
  byteAt(position: number): Promise<number | undefined>;
  /** Writes at the end of the file; may write less than it was given. Returns how much. */
  write(bytes: Uint8Array): Promise<number>;
  datasync(): Promise<void>;
  /** Leaves it to the next durable write to the journal, see `AppendDurability`. @default `datasync` */
  leaveToJournal?(): Promise<void>;
  truncate(size: number): Promise<void>;
  close(): Promise<void>;
  /** Whether the open file still has a name on the disk. @default true */
  isThere?(): Promise<boolean>;
}

/** Opens a file for appending and creates it, mode 0600, when it is missing. */
export type OpenAppend = (path: string) => Promise<AppendHandle>;

/**
 * Writes up to this many bytes run on the event loop: they only copy into the system's cache, which blocks it for less
 * time than handing them to another thread. A sync never runs on the event loop.
 */
const SYNC_WRITE_BYTES = 64 * 1024;

export const openAppend: OpenAppend = async (path) => {
  const handle = await open(path, 'a+', 0o600);
  const size = async (): Promise<number> => (await handle.stat()).size;
  try {
    if ((await size()) === 0) await syncDirectory(dirname(path));
  } catch (error) {
    await handle.close();
    throw error;
  }
  return {
    size,
    byteAt: async (position) => {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(1), 0, 1, position);
      return bytesRead === 1 ? buffer[0] : undefined;
    },
    write: async (bytes) =>
      bytes.length <= SYNC_WRITE_BYTES ? writeSync(handle.fd, bytes) : (await handle.write(bytes)).bytesWritten,
    datasync: () => handle.datasync(),
    truncate: (size) => handle.truncate(size),
    close: () => handle.close(),
    isThere: async () => (await handle.stat()).nlink > 0,
  };
};

export interface AppendFileOptions {
  /** Whole lines written at the start of an empty file; called with its first append. */
  readonly header?: () => Uint8Array;
  /** @default the real disk */
  readonly open?: OpenAppend;
}

interface PendingAppend {
  readonly bytes: Uint8Array;
  readonly durability: AppendDurability;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

const NEWLINE = 0x0a;
/** Lazy appends are kept in memory until they are synced; beyond this many bytes they are synced at once. */
const MOST_LAZY_BYTES = 1024 * 1024;

/**
 * An append-only file of lines, opened by its first append. Appends keep their order. Appends that are issued while
 * another is being written share one write, and one fdatasync if any of them is durable, which also covers all lazy
 * appends before it.
 *
 * After a failed append the file is cut back to its last good length; if the disk refuses even that, the rest of the
 * append stays as a line of its own. Later appends work as soon as the disk does. After a failed sync the kernel may
 * have dropped earlier lazy appends, and a second sync would not restore them, so they are written again.
 */
export class AppendFile {
  readonly #path: string;
  readonly #header: (() => Uint8Array) | undefined;
  readonly #open: OpenAppend;
  #handle: AppendHandle | undefined;
  #size: number | undefined;
  #endsInLine = false;
  /** Length of the file at the last sync, and the bytes that were appended after it. */
  #synced = 0;
  #lazy: Uint8Array = new Uint8Array();
  /** A sync failed, and `#lazy` has not been written again yet. */
  #owesLazy = false;
  #queue: PendingAppend[] = [];
  #draining: Promise<void> | undefined;
  #closed = false;

  constructor(path: string, options: AppendFileOptions = {}) {
    this.#path = path;
    this.#header = options.header;
    this.#open = options.open ?? openAppend;
  }

  /** Size of the file in bytes after its last complete append; undefined before the first append. */
  get size(): number | undefined {
    return this.#size;
  }

  /** Appends whole lines; resolves when they are as durable as requested, rejects when they were not written. */
  append(bytes: Uint8Array, durability: AppendDurability = 'durable'): Promise<void> {
    if (this.#closed) return Promise.reject(new AppError('file-closed', `${this.#path} is closed.`));
    return new Promise((resolve, reject) => {
      this.#queue.push({ bytes, durability, resolve, reject });
      this.#draining ??= this.#drain();
    });
  }

  /** Waits for pending appends and closes the file handle; the next append opens the file again. */
  async rest(): Promise<void> {
    await this.#draining;
    if (this.#draining === undefined) await this.#drop();
  }

  /** Waits for pending appends and closes the file; later appends are rejected. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#draining;
    await this.#drop();
  }

  /**
   * The damage that another program did to the open file, as the rest of a sentence; null if there is none or the file is not open.
   * The next append opens a damaged file again.
   */
  async damage(): Promise<string | null> {
    if (this.#draining !== undefined || this.#handle === undefined) return null;
    const handle = this.#handle;
    const expected = this.#size ?? 0;
    const [isThere, size] = [(await handle.isThere?.()) ?? true, await handle.size()];
    // A torn line at the end is known, and ends with the next append.
    const last = size === 0 || this.#endsInLine ? NEWLINE : await handle.byteAt(size - 1);
    // What was appended meanwhile changed all that.
    if (handle !== this.#handle || this.#draining !== undefined || this.#size !== expected) return null;
    const found = damageOf({ isThere, size, last }, expected);
    if (found === null) return null;
    this.#lazy = new Uint8Array();
    this.#owesLazy = false;
    await this.#drop();
    return found;
  }

  async #drain(): Promise<void> {
    // Appends of one tick share a write.
    await Promise.resolve();
    while (this.#queue.length > 0) {
      const batch = this.#queue;
      this.#queue = [];
      try {
        await this.#write(batch);
        for (const item of batch) item.resolve();
      } catch (error) {
        for (const item of batch) item.reject(error);
      }
    }
    this.#draining = undefined;
  }

  async #write(batch: readonly PendingAppend[]): Promise<void> {
    const handle = this.#handle ?? (await this.#reopen());
    if (this.#owesLazy) await this.#writeLazyAnew(handle);
    const before = this.#size ?? 0;
    const head: Uint8Array[] = [];
    if (this.#endsInLine) head.push(Uint8Array.of(NEWLINE));
    if (before === 0 && this.#header !== undefined) head.push(this.#header());
    const data = Buffer.concat([...head, ...batch.map((item) => item.bytes)]);
    try {
      await this.#writeAll(handle, data);
    } catch (error) {
      await this.#takeBack(handle, before);
      throw error;
    }
    const lazy = Buffer.concat([this.#lazy, data]);
    const has = (wanted: AppendDurability): boolean => batch.some(({ durability }) => durability === wanted);
    const isDurable = lazy.length > MOST_LAZY_BYTES || has('durable');
    if (isDurable || has('with-journal')) {
      await this.#sync(handle, isDurable);
      this.#synced = before + data.length;
      this.#lazy = new Uint8Array();
    } else {
      this.#lazy = lazy;
    }
    this.#size = before + data.length;
    this.#endsInLine = false;
  }

  async #writeAll(handle: AppendHandle, data: Uint8Array): Promise<void> {
    for (let done = 0; done < data.length;) {
      const written = await handle.write(data.subarray(done));
      if (written === 0) throw new AppError('write-stuck', `${this.#path} takes no more bytes.`);
      done += written;
    }
  }

  async #sync(handle: AppendHandle, isNow: boolean): Promise<void> {
    try {
      await (isNow || handle.leaveToJournal === undefined ? handle.datasync() : handle.leaveToJournal());
    } catch (error) {
      this.#owesLazy = true;
      await this.#writeLazyAnew(handle).catch(() => this.#drop().catch(() => {}));
      throw error;
    }
  }

  async #writeLazyAnew(handle: AppendHandle): Promise<void> {
    await handle.truncate(this.#synced);
    this.#size = this.#synced;
    await this.#writeAll(handle, this.#lazy);
    this.#size = this.#synced + this.#lazy.length;
    this.#endsInLine = false;
    this.#owesLazy = false;
  }

  async #reopen(): Promise<AppendHandle> {
    const handle = await this.#open(this.#path);
    try {
      const size = await handle.size();
      this.#endsInLine = size > 0 && (await handle.byteAt(size - 1)) !== NEWLINE;
      this.#size = size;
      if (this.#lazy.length === 0 && !this.#owesLazy) this.#synced = size;
    } catch (error) {
      await handle.close();
      throw error;
    }
    this.#handle = handle;
    return handle;
  }

  async #takeBack(handle: AppendHandle, size: number): Promise<void> {
    try {
      await handle.truncate(size);
    } catch {
      // The length of the file is unknown now: opening it again reads it.
      await this.#drop().catch(() => {});
    }
  }

  async #drop(): Promise<void> {
    const handle = this.#handle;
    this.#handle = undefined;
    await handle?.close();
  }
}

function damageOf(
  { isThere, size, last }: { readonly isThere: boolean; readonly size: number; readonly last: number | undefined },
  expected: number,
): string | null {
  if (!isThere) return 'is gone';
  if (size === 0 && expected > 0) return 'is empty';
  if (size < expected) return `has only ${size} of its ${expected} bytes left`;
  return last === NEWLINE ? null : 'is not text any more';
}
