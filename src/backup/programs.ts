import { join } from 'node:path';
import { rm } from 'node:fs/promises';
import * as z from 'zod';
import { acquireHomeLock } from '../core/storage/lock.ts';
import type { Clock } from '../core/util/clock.ts';
import { AppError, errorCode } from '../core/util/errors.ts';
import { ensureDirectory, namesIn, readIfExists, replaceDurable, syncDirectory } from '../core/storage/files.ts';

const pointerSchema = z.object({
  /** The version that runs. */
  version: z.string().regex(/^\d[\w.+-]*$/u),
  /** The version of the program that is installed, which starts this one: another one ignores it. */
  from: z.string(),
  /** A gateway of it stayed up. Until then the launcher gives it three starts, and the installed program has the next. */
  isConfirmed: z.boolean(),
});

export type ProgramPointer = z.output<typeof pointerSchema>;

/** Programs that upgrades installed for a home, each in a folder named by its version. */
export const programsFolder = (home: string): string => join(home, 'programs');
const pointerFile = (home: string): string => join(programsFolder(home), 'current.json');
/** The launcher writes a line into it with each start of an unconfirmed program. */
const startsFile = (home: string): string => join(programsFolder(home), 'starts');

/** Where a version is, by its package. */
export const packageIn = (folder: string): string => join(folder, 'node_modules', 'assistantd');

/** Held while a version is installed and switched to. Throws `no-home`, or `upgrade-running` when another process does that. */
export async function lockPrograms(home: string, clock: Pick<Clock, 'now'>): Promise<Disposable> {
  if ((await namesIn(home)).length === 0) {
    throw new AppError('no-home', `There is no home at ${home}. Name it with --home.`);
  }
  await ensureDirectory(programsFolder(home));
  try {
    return acquireHomeLock(join(programsFolder(home), 'lock'), { pid: process.pid, startedAt: clock.now() });
  } catch (error) {
    if (errorCode(error) !== 'home-locked') throw error;
    throw new AppError('upgrade-running', `Another upgrade of ${home} runs. Wait for its end.`, { cause: error });
  }
}

/** Which program the launcher starts in place of the installed one; undefined: the installed one. */
export async function readPointer(home: string): Promise<ProgramPointer | undefined> {
  try {
    return pointerSchema.parse(JSON.parse((await readIfExists(pointerFile(home))) ?? ''));
  } catch {
    return undefined;
  }
}

/** Lets the launcher start this program from now on, in one step; undefined: the installed one. */
export async function writePointer(home: string, pointer: ProgramPointer | undefined): Promise<void> {
  await ensureDirectory(programsFolder(home));
  await rm(startsFile(home), { force: true });
  if (pointer === undefined) {
    await rm(pointerFile(home), { force: true });
    await syncDirectory(programsFolder(home));
  } else {
    await replaceDurable(pointerFile(home), `${JSON.stringify(pointer)}\n`);
  }
}

/** The version that an upgrade chose and the launcher left because it did not stay up; undefined: none, if this one runs. */
export async function leftVersion(home: string, running: string): Promise<string | undefined> {
  const pointer = await readPointer(home);
  const isLeft = pointer?.isConfirmed === false && pointer.from === running && pointer.version !== running;
  return isLeft ? pointer.version : undefined;
}

/** A gateway of this version stayed up: it is no longer on trial. */
export async function confirmProgram(home: string, version: string): Promise<void> {
  const pointer = await readPointer(home);
  if (pointer === undefined || pointer.isConfirmed || pointer.version !== version) return;
  await writePointer(home, { ...pointer, isConfirmed: true });
}

/** Removes all programs but these, and what an upgrade that was cut short left. */
export async function prunePrograms(home: string, kept: readonly string[]): Promise<void> {
  const folder = programsFolder(home);
  const files = new Set(['current.json', 'starts', 'lock', 'lock.holder']);
  for (const name of await namesIn(folder)) {
    if (files.has(name) || kept.includes(name)) continue;
    await rm(join(folder, name), { recursive: true, force: true });
  }
}
