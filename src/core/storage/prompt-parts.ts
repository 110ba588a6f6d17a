import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { access, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../util/clock.ts';
import { errorCode } from '../util/errors.ts';
import { namesIn } from './files.ts';
import { plainDisk, type Disk } from './disk.ts';

/**
 * Files used this recently are kept even if no tape names them: a model call is written to its tape after its answer.
 */
const KEPT_MS = 24 * 3_600_000;
const NAME = /^[0-9a-f]{64}$/u;
const NAMES = /[0-9a-f]{64}/gu;
/** Characters carried over between two chunks of a tape, so that a hash that lies across both is found. */
const OVERLAP = 63;

export interface PruneOptions {
  /** The folder of the tapes. */
  readonly tapes: string;
  /** Stops the pruning early. */
  readonly signal?: AbortSignal;
}

/**
 * The prompt layers and tool lists that models were sent, each stored once under its SHA-256 (mode 0600), so that a
 * tape records them for each model call as hashes only. No tool may read them.
 */
export class PromptParts {
  readonly #folder: string;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #disk: Disk;
  /** By hash: when this process last used a file that it knows to be on the disk. */
  readonly #used = new Map<string, number>();
  readonly #removals = new Map<string, Promise<void>>();
  /** Hashes by the object they were made from: many calls share the same layers. */
  #known = new WeakMap<object, readonly string[]>();

  /** `disk`: @default the real disk, without reporting its failures */
  constructor(folder: string, clock: Pick<Clock, 'now'>, disk: Disk = plainDisk) {
    this.#folder = folder;
    this.#clock = clock;
    this.#disk = disk;
  }

  /** The hashes of texts, in their order, cached by the object `by` that the texts were made from. */
  hashes(by: object, texts: () => readonly string[]): readonly string[] {
    const known = this.#known.get(by);
    if (known !== undefined) return known;
    const hashes = texts().map(hashOfText);
    this.#known.set(by, hashes);
    return hashes;
  }

  /** Durably stores the texts that are not stored yet. Rejects when the disk does not take them. */
  async keep(hashes: readonly string[], texts: () => readonly string[]): Promise<void> {
    const now = this.#clock.now();
    const isNew = hashes.map((hash) => !this.#used.has(hash));
    if (!isNew.includes(true)) {
      for (const hash of hashes) this.#used.set(hash, now);
      return;
    }
    const all = texts();
    await Promise.all(hashes.map((hash, index) => this.#keep(hash, all[index] ?? '')));
  }

  /** The text with this hash; undefined when it is gone or damaged. */
  async read(hash: string): Promise<string | undefined> {
    if (!NAME.test(hash)) return undefined;
    try {
      const text = await readFile(join(this.#folder, hash), 'utf8');
      return hashOfText(text) === hash ? text : undefined;
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return undefined;
      throw error;
    }
  }

  /**
   * Removes texts that no tape names and that were not used for a day; returns how many and their bytes. Reads the
   * tapes in chunks and stops early when every candidate was found in one.
   */
  async prune({ tapes, signal }: PruneOptions): Promise<{ readonly files: number; readonly bytes: number }> {
    const unnamed = await this.#old();
    for (const tape of unnamed.size === 0 ? [] : await namesIn(tapes)) {
      if (unnamed.size === 0 || signal?.aborted === true) break;
      await dropNamed(join(tapes, tape), unnamed);
    }
    let files = 0;
    let bytes = 0;
    for (const [hash, size] of unnamed) {
      if (signal?.aborted === true) break;
      if (this.#isInUse(hash)) continue;
      this.#used.delete(hash);
      const removal = rm(join(this.#folder, hash), { force: true });
      this.#removals.set(hash, removal);
      await removal.finally(() => this.#removals.delete(hash));
      files += 1;
      bytes += size;
    }
    return { files, bytes };
  }

  async #keep(hash: string, text: string): Promise<void> {
    await this.#removals.get(hash)?.catch(() => {});
    const path = join(this.#folder, hash);
    const exists = await access(path).then(
      () => true,
      () => false,
    );
    if (!exists) {
      await this.#disk.ensure(this.#folder);
      await this.#disk.replace(path, text);
    }
    this.#used.set(hash, this.#clock.now());
  }

  #isInUse(hash: string): boolean {
    const used = this.#used.get(hash);
    return used !== undefined && used > this.#clock.now() - KEPT_MS;
  }

  /** Sizes by hash of the files that are old enough to be removed. */
  async #old(): Promise<Map<string, number>> {
    const before = this.#clock.now() - KEPT_MS;
    const old = new Map<string, number>();
    for (const name of await namesIn(this.#folder)) {
      if (!NAME.test(name) || this.#isInUse(name)) continue;
      const { mtimeMs, size } = await stat(join(this.#folder, name));
      if (mtimeMs < before) old.set(name, size);
    }
    return old;
  }
}

/** SHA-256 of a text, in hex. */
export function hashOfText(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Removes from `unnamed` the hashes that the tape names. */
async function dropNamed(path: string, unnamed: Map<string, number>): Promise<void> {
  let rest = '';
  try {
    for await (const piece of createReadStream(path, { encoding: 'latin1' })) {
      const text = `${rest}${String(piece)}`;
      for (const [name] of text.matchAll(NAMES)) unnamed.delete(name);
      if (unnamed.size === 0) return;
      rest = text.slice(-OVERLAP);
    }
  } catch (error) {
    // The tape was removed meanwhile.
    if (errorCode(error) !== 'ENOENT') throw error;
  }
}
