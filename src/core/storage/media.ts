import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { readFile, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock, type Clock } from '../util/clock.ts';
import { plainDisk, type Disk } from './disk.ts';
import { RecentMap } from '../util/recent-map.ts';
import { sessionFolder } from './spill.ts';

/** Characters of base64 that are cached for the next request. */
const CACHED_CHARS = 32_000_000;
/** How many images' sizes are cached. */
const CACHED_SIZES = 4096;

/** An image on the disk, read when it is needed. */
interface StoredImage {
  /** Bytes. */
  readonly size: number;
  /** The image as base64; undefined when the file is gone. Never rejects. */
  readonly read: () => Promise<string | undefined>;
}

/** Images and other media by content hash, each stored once, so that a hash on a tape always names the same bytes. */
export class MediaStore {
  readonly #folder: string;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #disk: Disk;
  readonly #known = new RecentMap<string, StoredImage>(CACHED_SIZES);
  readonly #read = new Map<string, string>();
  #cached = 0;

  /**
   * `clock`: stamps a file each time it is stored, so that its age counts from its newest use. @default the system's
   * `disk`: @default the real disk, without reporting its failures
   */
  constructor(folder: string, clock: Pick<Clock, 'now'> = systemClock, disk: Disk = plainDisk) {
    this.#folder = folder;
    this.#clock = clock;
    this.#disk = disk;
  }

  /**
   * The folder of a session's attachments, by their names, which its tools may read; it need not exist. The files by
   * hash beside these folders belong to all sessions and are not opened for tools.
   */
  folder(sessionKey: string): string {
    return sessionFolder(this.#folder, sessionKey);
  }

  /** Stores bytes durably; returns their SHA-256 in hex. */
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

  /** Stores bytes durably under their hash; returns the absolute path. */
  async keep(bytes: Uint8Array): Promise<string> {
    return this.pathOf(await this.put(bytes));
  }

  /** Absolute path of the file with this hash. */
  pathOf(hash: string): string {
    return join(this.#folder, hash);
  }

  /** The image with this hash; undefined when it is gone. Synchronous, because reading a tape into a transcript is. */
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

  /** Caches an image. The oldest leave first, because a request needs the newest images of its conversation. */
  #keep(hash: string, data: string): void {
    if (this.#read.has(hash)) return;
    this.#read.set(hash, data);
    this.#cached += data.length;
    for (const [oldest, { length }] of this.#read) {
      if (this.#cached <= CACHED_CHARS) return;
      this.#read.delete(oldest);
      this.#cached -= length;
    }
  }
}
