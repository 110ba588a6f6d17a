import { open, type FileHandle } from 'node:fs/promises';

/** Unwritten bytes beyond which `add` asks its caller to wait. */
const MOST_WAITING_BYTES = 1024 ** 2;

/**
 * A file for output of unknown length: it keeps the first `most` bytes; later bytes, and bytes that the disk does not
 * take, are counted and dropped. Not synced: a power loss may take the output.
 */
export class CappedFile {
  readonly path: string;
  readonly #handle: FileHandle;
  readonly #most: number;
  #came = 0;
  #kept = 0;
  #waiting = 0;
  #isFull = false;
  #writing: Promise<void> = Promise.resolve();

  private constructor(path: string, handle: FileHandle, most: number) {
    this.path = path;
    this.#handle = handle;
    this.#most = most;
  }

  /** Creates the file with mode 0600. Rejects when the folder is missing or the file exists. */
  static async create(path: string, most: number): Promise<CappedFile> {
    return new CappedFile(path, await open(path, 'wx+', 0o600), most);
  }

  /** Bytes that were added, kept or not. */
  get bytes(): number {
    return this.#came;
  }

  /** Bytes in the file. */
  get kept(): number {
    return this.#kept;
  }

  /** Bytes that were added and will never be in the file. */
  get dropped(): number {
    return this.#came - this.#kept - this.#waiting;
  }

  /** Adds bytes; never rejects. Undefined: the caller may add more at once; else it waits for the promise first. */
  add(bytes: Uint8Array): Promise<void> | undefined {
    this.#came += bytes.length;
    const space = this.#isFull ? 0 : this.#most - this.#kept - this.#waiting;
    const taken = bytes.subarray(0, space);
    if (taken.length === 0) return undefined;
    this.#waiting += taken.length;
    this.#writing = this.#writing.then(() => this.#write(taken));
    return this.#waiting > MOST_WAITING_BYTES ? this.#writing : undefined;
  }

  /** At most `length` bytes from `offset` on. */
  async read(offset: number, length: number): Promise<Buffer> {
    const wanted = Math.max(0, Math.min(length, this.#kept - offset));
    const { buffer, bytesRead } = await this.#handle.read(Buffer.alloc(wanted), 0, wanted, offset);
    return buffer.subarray(0, bytesRead);
  }

  /** Resolves when all bytes added so far are written or dropped. */
  settled(): Promise<void> {
    return this.#writing;
  }

  async close(): Promise<void> {
    await this.#writing;
    await this.#handle.close();
  }

  async #write(bytes: Uint8Array): Promise<void> {
    try {
      for (let done = 0; done < bytes.length && !this.#isFull;) {
        const { bytesWritten } = await this.#handle.write(bytes, done, bytes.length - done, this.#kept);
        this.#kept += bytesWritten;
        this.#waiting -= bytesWritten;
        done += bytesWritten;
        if (bytesWritten === 0) this.#isFull = true;
      }
    } catch {
      this.#isFull = true;
    }
    if (this.#isFull) this.#waiting = 0;
  }
}
