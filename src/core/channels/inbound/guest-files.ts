import { createHash } from 'node:crypto';
import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { ensureDirectory, requireSpace } from '../../storage/files.ts';

const MB = 1024 * 1024;
/** Bytes of all guests' files together. */
const MOST_BYTES = 500 * MB;
/** Bytes that stay free on the disk: below this, guests' files aren't fetched. */
const LEAST_FREE = 1024 * MB;
const MOST_FILES = 50_000;
const LARGEST_IMAGE = 4 * MB;
/** The shared copy of an image is stamped when it is stored, and the session's copy right after. */
const SAME_MESSAGE_MS = 60_000;
/** In a file's name between its id and the name that its sender chose, which can't contain it. */
const GUESTS = '~';
/** The same for an image, which has a copy by its hash and so counts twice. */
const IMAGE = '~~';

/** The files that guests sent, oldest first, with a cap: the oldest are deleted to make room for new ones. */
export class GuestFiles {
  readonly #root: string;
  readonly #limits: { readonly mostBytes: number; readonly leastFree: number };
  readonly #sizes = new Map<string, number>();
  #bytes = 0;
  #loaded: Promise<void> | undefined;

  /** `root`: the folder that has a folder for each session. */
  constructor(root: string, limits: { readonly mostBytes?: number; readonly leastFree?: number } = {}) {
    this.#root = root;
    this.#limits = { mostBytes: MOST_BYTES, leastFree: LEAST_FREE, ...limits };
  }

  /** What comes between the id of a guest's file and its name. */
  mark(isImage: boolean): string {
    return isImage ? IMAGE : GUESTS;
  }

  /** Rejects when the disk is nearly full. */
  async requireSpace(): Promise<void> {
    await ensureDirectory(this.#root);
    await requireSpace(this.#root, this.#limits.leastFree).catch(() => {
      throw new Error('the disk of this machine is nearly full');
    });
  }

  /** Deletes the oldest files until this one fits, and counts it. Call it before the file is written. */
  async makeRoom(path: string, bytes: number): Promise<void> {
    this.#loaded ??= this.#load();
    await this.#loaded;
    this.#count(path, bytes);
    for (const [oldest, size] of this.#sizes) {
      if (oldest === path || (this.#bytes <= this.#limits.mostBytes && this.#sizes.size <= MOST_FILES)) return;
      this.#sizes.delete(oldest);
      this.#bytes -= size;
      await this.#remove(oldest);
    }
  }

  async #load(): Promise<void> {
    const folders = await readdir(this.#root, { withFileTypes: true }).catch(() => []);
    const found: { readonly path: string; readonly at: number; readonly size: number }[] = [];
    for (const folder of folders) {
      if (!folder.isDirectory()) continue;
      for (const name of await readdir(join(this.#root, folder.name)).catch(() => [])) {
        const path = join(this.#root, folder.name, name);
        if (!name.includes(GUESTS)) continue;
        const info = await stat(path).catch(() => undefined);
        if (info?.isFile() === true) found.push({ path, at: info.mtimeMs, size: info.size });
      }
    }
    for (const { path, size } of found.toSorted((a, b) => a.at - b.at)) this.#count(path, size);
  }

  #count(path: string, bytes: number): void {
    const size = basename(path).includes(IMAGE) ? 2 * bytes : bytes;
    this.#sizes.set(path, size);
    this.#bytes += size;
  }

  /** Also removes the copy by hash that the model's images come from, unless somebody else has sent the same before or since. */
  async #remove(path: string): Promise<void> {
    const own = await stat(path).catch(() => undefined);
    if (own === undefined) return;
    const bytes = own.size <= LARGEST_IMAGE ? await readFile(path).catch(() => undefined) : undefined;
    if (bytes !== undefined) {
      const shared = join(this.#root, createHash('sha256').update(bytes).digest('hex'));
      const info = await stat(shared).catch(() => undefined);
      const isGuests =
        info !== undefined &&
        info.birthtimeMs >= own.mtimeMs - SAME_MESSAGE_MS &&
        info.mtimeMs <= own.mtimeMs + SAME_MESSAGE_MS;
      if (isGuests) await rm(shared, { force: true });
    }
    await rm(path, { force: true });
  }
}
