import { lstatSync, readdirSync, type BigIntStats } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../util/clock.ts';
import { errorCode } from '../util/errors.ts';

/** What stops a change set from landing, as a sentence for the model. */
export class NotLandable extends Error {}

/** A walk yields to the event loop after this long. */
const BUSY_MS = 5;
/** A walk with more entries fails. */
const MOST_ENTRIES = 500_000;

/** Counts the entries of a walk, gives way to other work, and ends the walk when its signal aborts. */
export class Pace {
  readonly #clock: Clock;
  readonly #signal: AbortSignal | undefined;
  #left = MOST_ENTRIES;
  #since: number;

  constructor(clock: Clock, signal?: AbortSignal) {
    this.#clock = clock;
    this.#signal = signal;
    this.#since = clock.monotonic();
  }

  get isAborted(): boolean {
    return this.#signal?.aborted === true;
  }

  /** Call it before each entry. Throws the signal's reason, or `NotLandable` when there are too many entries. */
  async step(): Promise<void> {
    this.#left -= 1;
    if (this.#left < 0) throw new NotLandable(`there are more than ${MOST_ENTRIES} files and folders to compare`);
    if (this.#left % 16 !== 0 || this.#clock.monotonic() - this.#since < BUSY_MS) return;
    await setImmediate();
    this.#signal?.throwIfAborted();
    this.#since = this.#clock.monotonic();
  }
}

/** `lstat` of an entry; undefined if it is missing. */
export function statAt(path: string): BigIntStats | undefined {
  try {
    return lstatSync(path, { bigint: true, throwIfNoEntry: false });
  } catch (error) {
    if (errorCode(error) === 'ENOTDIR') return undefined;
    throw error;
  }
}

/** The names in a folder; none if there is no such folder. Throws `NotLandable` if the folder can't be read. */
export function namesIn(folder: string, shown = folder): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return [];
    if (errorCode(error) === 'EACCES') throw new NotLandable(`the folder ${shown} can't be read`);
    throw error;
  }
}

/** Totals of an entry and everything below it. */
export interface TreeFacts {
  readonly entries: number;
  readonly bytes: number;
  /** The newest ctime in ns, and the path that has it. */
  readonly newestNs: bigint;
  readonly newest: string;
}

/**
 * Walks through an entry and everything below it; undefined if it is missing. Links aren't followed. `isOwn`: ctimes to ignore.
 */
export async function measure(
  root: string,
  path: string,
  pace: Pace,
  isOwn: (ns: bigint) => boolean = () => false,
): Promise<TreeFacts | undefined> {
  await pace.step();
  const full = path === '' ? root : `${root}/${path}`;
  const own = statAt(full);
  if (own === undefined) return undefined;
  let facts: TreeFacts = {
    entries: 1,
    bytes: own.isFile() ? Number(own.size) : 0,
    newestNs: isOwn(own.ctimeNs) ? 0n : own.ctimeNs,
    newest: path,
  };
  if (!own.isDirectory()) return facts;
  for (const name of namesIn(full, path)) {
    const inside = await measure(root, path === '' ? name : `${path}/${name}`, pace, isOwn);
    // The entry has just been removed, or its name isn't valid UTF-8.
    if (inside === undefined) throw new NotLandable(`${path}/${name} can't be read`);
    facts = {
      entries: facts.entries + inside.entries,
      bytes: facts.bytes + inside.bytes,
      ...(inside.newestNs > facts.newestNs
        ? { newestNs: inside.newestNs, newest: inside.newest }
        : { newestNs: facts.newestNs, newest: facts.newest }),
    };
  }
  return facts;
}
