import { open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../util/clock.ts';
import { errorCode, errorMessage } from '../util/errors.ts';
import { plural } from '../util/text.ts';
import { localText } from '../util/time-zone.ts';

/** Between two looks, ms. */
const LOOK_MS = 5_000;
/** So much of the beginning and of the end of a file is read, bytes. */
const READ_BYTES = 65_536;
/** A text that lost this share of its bytes, and was not written by the assistant, counts as damaged. */
const LOST_SHARE = 0.5;

/** A file of the home as it was when it was last found whole. */
export interface HomeFileRecord {
  readonly bytes: number;
  /** Milliseconds since 1970. */
  readonly seenAt: number;
}

/** Damage of a file that was whole before. */
export interface FileDamage {
  /** Within the home. */
  readonly path: string;
  /** As the rest of a sentence: `is gone`. */
  readonly problem: string;
  /** As it was before. */
  readonly before: HomeFileRecord | null;
}

interface Look {
  /** Changes with the file. */
  readonly stamp: string;
  /** Null if there is no file. */
  readonly bytes: number | null;
  readonly inode: number | null;
  /** What is wrong with the file, regardless of what it was before; null if nothing is. */
  readonly problem: string | null;
}

export interface WatchedHome {
  /** Absolute. */
  readonly home: string;
  readonly records: {
    all: () => ReadonlyMap<string, HomeFileRecord>;
    keep: (records: ReadonlyMap<string, HomeFileRecord | null>) => Promise<void>;
  };
  /** Calls back with the absolute path of each file that the assistant itself writes. */
  readonly onWrote: (listener: (path: string) => void) => Disposable;
  /** Told of each damage once. */
  readonly damaged: (found: readonly FileDamage[]) => void;
  readonly clock: Clock;
}

/**
 * Watches files that stay in the home for months and that only an accident or a person removes: whether each still exists, can
 * be read, is text, and is not much shorter than before. Once reported, the new state counts as whole: a person may have made it.
 */
export class HomeFiles implements Disposable {
  readonly #paths: readonly string[];
  readonly #watched: WatchedHome;
  readonly #seen = new Map<string, Look>();
  /** Files that the assistant wrote since it last found them changed. */
  readonly #own = new Set<string>();
  readonly #onWrote: Disposable;
  #timer: Disposable | undefined;
  #isClosed = false;

  /** `paths`: within the home. */
  constructor(paths: readonly string[], watched: WatchedHome) {
    this.#paths = paths;
    this.#watched = watched;
    this.#onWrote = watched.onWrote((path) => this.#own.add(path));
  }

  /** Looks now, and every 5 s from then on. Never rejects. */
  async watch(): Promise<void> {
    await this.#look().catch(() => {});
    if (!this.#isClosed) this.#timer = this.#watched.clock.timer(LOOK_MS, () => void this.watch());
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#onWrote[Symbol.dispose]();
    this.#timer?.[Symbol.dispose]();
  }

  async #look(): Promise<void> {
    const { home, records, damaged, clock } = this.#watched;
    const known = records.all();
    const damages: FileDamage[] = [];
    const next = new Map<string, HomeFileRecord | null>();
    for (const path of this.#paths) {
      const last = this.#seen.get(path);
      const found = await lookAt(join(home, path), last?.stamp);
      if (found === null) continue;
      this.#seen.set(path, found);
      const isOwn = this.#own.delete(join(home, path)) && !isCutOff(found, last);
      const before = known.get(path) ?? null;
      const damage = isOwn && found.problem === null ? null : damageOf(path, found, before);
      if (damage !== null) damages.push(damage);
      const { bytes } = found;
      if (bytes !== (before?.bytes ?? null)) next.set(path, bytes === null ? null : { bytes, seenAt: clock.now() });
    }
    if (damages.length > 0) damaged(damages);
    if (next.size > 0) await records.keep(next);
  }
}

/** What the assistant itself makes shorter is a new file in the place of the old one. */
function isCutOff(found: Look, last: Look | undefined): boolean {
  return last !== undefined && found.inode === last.inode && (found.bytes ?? 0) < (last.bytes ?? 0);
}

/** Looks at files of a home at rest, for the doctor. */
export async function damagedFiles(
  home: string,
  known: ReadonlyMap<string, HomeFileRecord>,
): Promise<readonly FileDamage[]> {
  const found = [...known].map(async ([path, before]) => {
    const look = await lookAt(join(home, path), undefined);
    return look === null ? null : damageOf(path, look, before);
  });
  return (await Promise.all(found)).filter((damage) => damage !== null);
}

function damageOf(path: string, { bytes, problem }: Look, before: HomeFileRecord | null): FileDamage | null {
  if (bytes === null) return before === null ? null : { path, problem: 'is gone', before };
  if (problem !== null) return { path, problem, before };
  if (before === null) return null;
  if (bytes === 0 && before.bytes > 0) return { path, problem: 'is empty', before };
  // What is left of a damaged JSON file doesn't parse, which its own reader reports.
  if (!path.endsWith('.json') && bytes <= (1 - LOST_SHARE) * before.bytes) {
    return { path, problem: `has only ${plural(bytes, 'byte')} left`, before };
  }
  return null;
}

/** Null if the file still has this stamp. */
async function lookAt(path: string, lastStamp: string | undefined): Promise<Look | null> {
  const look = await facts(path);
  if (look.stamp === lastStamp) return null;
  if (look.problem !== null || look.bytes === null) return look;
  return await problemOfText(path, look.bytes).then(
    (problem) => ({ ...look, problem }),
    (error: unknown) => ({ ...look, problem: unreadable(error) }),
  );
}

async function facts(path: string): Promise<Look> {
  try {
    const found = await stat(path);
    const stamp = `${found.ino} ${found.size} ${found.mtimeMs} ${found.mode}`;
    const problem = found.isFile() ? null : 'is not a file any more';
    return { stamp, bytes: found.size, inode: found.ino, problem };
  } catch (error) {
    const stamp = errorCode(error) ?? '';
    const isGone = stamp === 'ENOENT' || stamp === 'ENOTDIR';
    return { stamp, bytes: isGone ? null : 0, inode: null, problem: isGone ? null : unreadable(error) };
  }
}

const unreadable = (error: unknown): string => `cannot be read (${errorCode(error) ?? errorMessage(error)})`;

async function problemOfText(path: string, bytes: number): Promise<string | null> {
  await using file = await open(path);
  for (const position of [0, Math.max(0, bytes - READ_BYTES)]) {
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(READ_BYTES), position });
    const read = buffer.subarray(0, bytesRead);
    if (read.includes(0)) return read.every((byte) => byte === 0) ? 'holds nothing but zeros' : 'is not text any more';
    if (!isUtf8(read)) return 'is not text any more';
  }
  return null;
}

/** A piece may begin and end inside a character. */
function isUtf8(piece: Uint8Array): boolean {
  const start = piece.findIndex((byte) => (byte & 0xc0) !== 0x80);
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(piece.subarray(Math.max(0, start)), { stream: true });
    return start <= 3;
  } catch {
    return false;
  }
}

/** What is damaged and how to get it back, in sentences. `zone`: IANA name. */
export function damageText(found: readonly FileDamage[], zone: string): string {
  const what = found.map(({ path, problem, before }) => {
    if (before === null) return `${path} ${problem}.`;
    return `${path} ${problem}; on ${localText(before.seenAt, zone)} it had ${plural(before.bytes, 'byte')}.`;
  });
  const versions = found.some(({ path }) => path.endsWith('/MEMORY.md'))
    ? ' Earlier versions of MEMORY.md: `/memory log`, `/memory restore ID`.'
    : '';
  const it = found.length === 1 ? 'it' : 'them';
  return `${what.join(' ')} If you did not do that, take ${it} from a backup (docs/backup.md).${versions}`;
}
