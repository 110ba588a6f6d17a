import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { readFile, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock, type Clock } from '../util/clock.ts';
import { plainDisk, type Disk } from './disk.ts';
import { RecentMap } from '../util/recent-map.ts';
import { sessionFolder } from './spill.ts';

/** Characters of base64 that are kept for the next request. */
const CACHED = 32_000_000;
/** Images whose sizes are known without looking. */
const KNOWN = 4096;

/** An image that is on the disk; it is read when it is needed. */
interface StoredImage {
  /** Bytes. */
  readonly size: number;
  /** As base64; undefined when it is gone. Never rejects. */
  readonly read: () => Promise<string | undefined>;
}

/** Bytes by content hash, each stored once: a transcript that names a hash always means the same bytes. */
export class MediaStore {
  readonly #folder: string;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #disk: Disk;
  readonly #known = new RecentMap<string, StoredImage>(KNOWN);
  readonly #read = new Map<string, string>();
  #cached = 0;

  /**
   * `clock`: a picture that is kept again is as young as its newest use. @default the machine's
   * `disk`: @default the real one, and nobody is told what it refuses
   */
  constructor(folder: string, clock: Pick<Clock, 'now'> = systemClock, disk: Disk = plainDisk) {
    this.#folder = folder;
    this.#clock = clock;
    this.#disk = disk;
  }

  /**
   * Where the attachments of one session lie, by their names, for its tools to read; the folder need not exist. What
   * lies beside these folders by its hash belongs to all transcripts, and is open to no tool.
   */
  folder(sessionKey: string): string {
    return sessionFolder(this.#folder, sessionKey);
  }

  /** Stores durably; returns the SHA-256 in hex. */
  async put(bytes: Uint8Array): Promise<string> {
    const hash = createHash('sha256').update(bytes).digest('hex');
    const path = join(this.#folder, hash);
    const now = new Date(this.#clock.now());
    const exists = await utimes(path, now, now).then(
      () => true,
      () => false,
    );
    if (!exists) {
      await this.#disk.ensure(this.#folder);
      await this.#disk.replace(path, bytes);
    }
    return hash;
  }

  /** Stores durably; returns the absolute path. */
  async keep(bytes: Uint8Array): Promise<string> {
    return join(this.#folder, await this.put(bytes));
  }

  /** Undefined when it is gone. Synchronous, because folding a tape is: it looks at most once for each image. */
  image(hash: string): StoredImage | undefined {
    const known = this.#known.get(hash);
    if (known !== undefined) return known;
    if (!/^[0-9a-f]{64}$/u.test(hash)) return undefined;
    const size = statSync(join(this.#folder, hash), { throwIfNoEntry: false })?.size;
    if (size === undefined) return undefined;
    const image: StoredImage = { size, read: () => this.#base64(hash) };
    this.#known.set(hash, image);
    return image;
  }

  async #base64(hash: string): Promise<string | undefined> {
    const cached = this.#read.get(hash);
    if (cached !== undefined) return cached;
    const bytes = await readFile(join(this.#folder, hash)).catch(() => undefined);
    if (bytes === undefined) {
      this.#known.delete(hash);
      return undefined;
    }
    const data = bytes.toString('base64');
    this.#keep(hash, data);
    return data;
  }

  /** The newest of a conversation are asked for with each request, so what was read first leaves first. */
  #keep(hash: string, data: string): void {
    if (this.#read.has(hash)) return;
    this.#read.set(hash, data);
    this.#cached += data.length;
    for (const [oldest, { length }] of this.#read) {
      if (this.#cached <= CACHED) return;
      this.#read.delete(oldest);
      this.#cached -= length;
    }
  }
}
