import { readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../util/clock.ts';
import { AppError } from '../util/errors.ts';
import type { Random } from '../util/random.ts';
import { plainDisk, type Disk } from './disk.ts';
import { ifThere } from './files.ts';

/** How long a file is kept that no message uses. */
const UNUSED_MS = 3_600_000;
/** Files that no message uses, in all. */
const MOST_UNUSED = 100;
const USED = 'used-';
const NAME = /^[0-9a-f]{32}$/u;

interface UploadsOptions {
  readonly clock: Pick<Clock, 'now'>;
  readonly random: Random;
  /** @default the real disk, without reporting its failures */
  readonly disk?: Disk;
}

/**
 * Files that a browser sent before the message that they belong to. One that no message uses goes after an hour; the others
 * are kept until the sweep of media takes them.
 */
export class Uploads {
  readonly #folder: string;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #random: Random;
  readonly #disk: Disk;

  constructor(folder: string, { clock, random, disk = plainDisk }: UploadsOptions) {
    this.#folder = folder;
    this.#clock = clock;
    this.#random = random;
    this.#disk = disk;
  }

  /** Stores a file durably; returns its name. Throws `uploads-busy` when too many wait. */
  async put(bytes: Uint8Array): Promise<string> {
    await this.#disk.ensure(this.#folder);
    if ((await this.#removeOld()) >= MOST_UNUSED) {
      throw new AppError(
        'uploads-busy',
        `${MOST_UNUSED} files wait for a message already. Send them, or try again in an hour.`,
      );
    }
    const name = Buffer.from(this.#random.bytes(16)).toString('hex');
    await this.#disk.replace(join(this.#folder, name), bytes);
    return name;
  }

  /** Keeps a file for a message; may be repeated. Bytes; undefined: there is none with this name. */
  async use(name: string): Promise<number | undefined> {
    if (!NAME.test(name)) return undefined;
    const used = join(this.#folder, `${USED}${name}`);
    await ifThere(rename(join(this.#folder, name), used));
    return (await ifThere(stat(used)))?.size;
  }

  /** The bytes of a file, used or not; undefined: there is none with this name. */
  async read(name: string): Promise<Uint8Array | undefined> {
    if (!NAME.test(name)) return undefined;
    const used = await ifThere(readFile(join(this.#folder, `${USED}${name}`)));
    return used ?? (await ifThere(readFile(join(this.#folder, name))));
  }

  /** Returns how many unused ones are left. */
  async #removeOld(): Promise<number> {
    let left = 0;
    for (const name of await readdir(this.#folder)) {
      if (!NAME.test(name)) continue;
      const path = join(this.#folder, name);
      const age = this.#clock.now() - ((await ifThere(stat(path)))?.mtimeMs ?? 0);
      if (age > UNUSED_MS) await rm(path, { force: true });
      else left += 1;
    }
    return left;
  }
}
