import { readdir, rename, rm, rmdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { journalMigrations } from '../core/journal/schema.ts';
import { ensureDirectory, ifThere, namesIn, syncDirectory } from '../core/storage/files.ts';
import { classifyFailure, isStorageTrouble } from '../core/storage/storage-failure.ts';
import type { Clock } from '../core/util/clock.ts';
import { AppError, errorCode, errorMessage } from '../core/util/errors.ts';
import { homesIn, JOURNAL } from './contents.ts';
import { lockHomes } from './lock-homes.ts';
import type { Manifest } from './manifest.ts';
import { markRestored } from './restored.ts';
import { unpack } from './unpack.ts';

export interface RestoreOptions {
  /** The archive. Absolute, as is `home`. */
  readonly file: string;
  /** Where the home will be; what is there is moved aside. */
  readonly home: string;
  /** What was open goes on: the assistant had stopped before the backup and never ran again there. */
  readonly continues: boolean;
  readonly clock: Pick<Clock, 'now'>;
  /** Names what is moved aside, such as `2027-03-01T08-31-02`. */
  readonly stamp: string;
  /** Told now and then how much of the archive is read; bytes. */
  readonly onProgress?: (done: number, all: number) => void;
}

export interface Restored {
  readonly manifest: Manifest;
  /** Where the home of before is; null: there was none. */
  readonly movedTo: string | null;
  readonly linksLeftOut: readonly string[];
}

/** Of this machine, not of the home's content: it stays when the content is replaced. */
const STAYS = ['bin', 'programs'];
/** A home that holds nothing else is empty. */
const OF_A_LOCK = /^lock(?:\..*)?$/u;

/** Whether there is a home that a restore would have to move aside. */
export async function holdsHome(home: string): Promise<boolean> {
  return (await namesIn(home)).some((name) => !OF_A_LOCK.test(name) && !name.startsWith('.'));
}

/**
 * Puts a backup where the home is. Everything is unpacked and checked beside it first; then the home of before gets
 * another name and the new one takes its place. No one may use the home meanwhile. The restored home is marked: its first
 * start ends what was open at the time of the backup, since that may have been done after it, and tells the owner.
 *
 * Throws one sentence: `home-locked`, `backup-missing`, `backup-damaged`, `backup-unsafe`, `backup-too-new`,
 * `restore-failed`. The home is then as it was.
 */
export async function restoreBackup(options: RestoreOptions): Promise<Restored> {
  const { file, home, continues, clock, stamp } = options;
  const all = (await ifThere(stat(file)))?.size;
  if (all === undefined) throw new AppError('backup-missing', `There is no backup at ${file}. Name the file.`);
  // Where the folder above cannot be written (the home is the volume of a container) it is made inside.
  const isThere = (await ifThere(stat(home))) !== undefined;
  using _locks = isThere ? await lockHomes(home, clock) : undefined;
  const fresh = await emptyFolder(home);
  try {
    const { manifest, linksLeftOut } = await unpack(file, fresh, {
      home,
      journalVersion: journalMigrations.length,
      onProgress: (done) => options.onProgress?.(done, all),
    });
    if (continues && manifest.inUse) {
      throw new AppError(
        'backup-in-use',
        `${file} was made while an assistant ran, which may have gone on with what was open. Restore without --continue.`,
      );
    }
    for (const inner of continues ? [] : await homesIn(fresh)) {
      const backupAt = Date.parse(manifest.createdAt);
      await markRestored(join(fresh, inner), { at: clock.now(), backupAt, hasEnded: false });
    }
    const movedTo = dirname(fresh) === home ? await swapContent(fresh, home, stamp) : await swap(fresh, home, stamp);
    return { manifest, movedTo, linksLeftOut };
  } catch (error) {
    const isDisk = isStorageTrouble(classifyFailure(error));
    if (error instanceof AppError && !isDisk) throw error;
    throw new AppError(
      'restore-failed',
      `The backup was not restored: ${errorMessage(error)}. Make room there, or choose another place with --home.`,
      {
        cause: error,
      },
    );
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
}

/** Beside the home, where its name can be changed; else in it. */
async function emptyFolder(home: string): Promise<string> {
  const places = [join(dirname(home), `.${basename(home)}.restore`), join(home, '.restore')];
  for (const [n, place] of places.entries()) {
    try {
      await rm(place, { recursive: true, force: true });
      await ensureDirectory(place);
      if (n > 0 || !(await isMount(home))) return place;
      await rmdir(place);
    } catch (error) {
      if (n === places.length - 1) throw error;
    }
  }
  throw new AppError('restore-failed', `There is no place for the backup at ${home}. Choose another one with --home.`);
}

/** A mounted folder cannot get another name. */
async function isMount(home: string): Promise<boolean> {
  const [own, above] = [await ifThere(stat(home)), await ifThere(stat(dirname(home)))];
  return own !== undefined && own.dev !== above?.dev;
}

/** Killed between its two steps, it leaves the home of before under its new name, and the same restore works again. */
async function swap(fresh: string, home: string, stamp: string): Promise<string | null> {
  const isKept = await holdsHome(home);
  const aside = `${home}.before-${stamp}`;
  const isMoved = await rename(home, aside).then(
    () => true,
    (error: unknown) => {
      if (errorCode(error) === 'ENOENT') return false;
      throw error;
    },
  );
  try {
    await rename(fresh, home);
  } catch (error) {
    if (isMoved) await rename(aside, home);
    throw error;
  }
  for (const name of isMoved ? STAYS : []) await rename(join(aside, name), join(home, name)).catch(() => {});
  await syncDirectory(dirname(home));
  if (isMoved && !isKept) await rm(aside, { recursive: true, force: true });
  return isKept ? aside : null;
}

/** The journal leaves first and comes last, so that no half of a home has one. */
async function swapContent(fresh: string, home: string, stamp: string): Promise<string | null> {
  const aside = join(home, `before-${stamp}`);
  const stays = (name: string): boolean =>
    OF_A_LOCK.test(name) || name === basename(fresh) || name.startsWith('before-') || STAYS.includes(name);
  const old = (await readdir(home)).filter((name) => !stays(name));
  if (old.length > 0) await ensureDirectory(aside);
  const journalFirst = (a: string, b: string): number => Number(b === JOURNAL) - Number(a === JOURNAL);
  for (const name of old.toSorted(journalFirst)) await rename(join(home, name), join(aside, name));
  for (const name of (await readdir(fresh)).toSorted(journalFirst).toReversed()) {
    await rename(join(fresh, name), join(home, name));
  }
  await syncDirectory(home);
  return old.length > 0 ? aside : null;
}
