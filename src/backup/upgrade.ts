import { readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { journalMigrations } from '../core/journal/schema.ts';
import { npmInstall } from '../service/npm.ts';
import { runProgram, type Variables } from '../service/program.ts';
import { ensureDirectory, namesIn, syncDirectory } from '../core/storage/files.ts';
import type { Clock } from '../core/util/clock.ts';
import { AppError } from '../core/util/errors.ts';
import { oneLine, sentences } from '../core/util/text.ts';
import { createBackup } from './backup.ts';
import { packageIn, programsFolder } from './programs.ts';
import { restoreBackup } from './restore.ts';

/** A start of the new version on a copy gets this long. */
const TRIAL_SECONDS = 180;
/** So many automatic backups are kept. */
const MOST_BACKUPS = 5;
const AUTOMATIC = /^upgrade-.*\.tar\.gz$/u;

export interface InstalledVersion {
  readonly version: string;
  /** Where its package is. */
  readonly folder: string;
}

interface At {
  readonly home: string;
  /** The Node that runs it. */
  readonly node: string;
  readonly env: Variables;
}

/**
 * Installs a version beside the present one with npm: `spec` is a version, a tag or the path of a tarball. Nothing runs of
 * it. Null: that is the present version. Throws `upgrade-install` with the reason.
 */
export async function installVersion(
  spec: string,
  { home, node, env, present }: At & { /** The version that runs, whose files stay. */ readonly present: string },
): Promise<InstalledVersion | null> {
  const folder = programsFolder(home);
  const fresh = join(folder, '.new');
  await rm(fresh, { recursive: true, force: true });
  await ensureDirectory(fresh);
  const isFile = spec.includes('/');
  const why = await npmInstall(isFile ? spec : `assistantd@${spec}`, {
    into: fresh,
    flags: ['--omit=optional'],
    node,
    env,
  });
  if (why !== null) {
    const what = isFile ? spec : `assistantd ${spec}`;
    throw new AppError('upgrade-install', `npm could not install ${what}: ${sentences(why, 'Nothing was changed')}`);
  }
  const version = await versionIn(packageIn(fresh), spec);
  if (version === present) {
    await rm(fresh, { recursive: true, force: true });
    return null;
  }
  const target = join(folder, version);
  await rm(target, { recursive: true, force: true });
  await rename(fresh, target);
  await syncDirectory(folder);
  return { version, folder: packageIn(target) };
}

const packageFacts = z.object({ name: z.literal('assistantd'), version: z.string().regex(/^\d[\w.+-]*$/u) });

async function versionIn(folder: string, spec: string): Promise<string> {
  try {
    return packageFacts.parse(JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))).version;
  } catch (cause) {
    throw new AppError('upgrade-install', `${spec} is not a package of the assistant. Nothing was changed.`, { cause });
  }
}

/** Backs a home up into its own folder, and removes the oldest automatic backups beyond five. Returns the file. */
export async function backUpBefore(
  home: string,
  options: {
    readonly version: string;
    readonly stamp: string;
    readonly inUse: boolean;
    readonly clock: Pick<Clock, 'now'>;
  },
): Promise<string> {
  const { version, stamp, inUse, clock } = options;
  const folder = join(home, 'backups');
  const file = join(folder, `upgrade-${stamp}.tar.gz`);
  const cutShort = (await namesIn(folder)).filter((name) => /^\..*\.tmp$/u.test(name));
  for (const name of cutShort) await rm(join(folder, name), { force: true });
  await createBackup({ home, out: file, version, inUse, clock });
  const old = (await namesIn(folder)).filter((name) => AUTOMATIC.test(name)).toSorted();
  for (const name of old.slice(0, -MOST_BACKUPS)) await rm(join(folder, name), { force: true });
  return file;
}

const trialSchema = z.object({
  version: z.string(),
  /** Of the journal, after the new version opened it. */
  journal: z.object({ version: z.int(), oldestReader: z.int() }),
});

/**
 * Starts a new version on a copy of the home, made of its backup, with channels, schedule, MCP servers and plugins off.
 * Throws `upgrade-trial` when it does not become ready, and `upgrade-one-way` when the present version could not read the
 * home afterwards.
 */
export async function tryVersion(
  { version, folder }: InstalledVersion,
  { home, node, env, backup, clock }: At & { readonly backup: string; readonly clock: Pick<Clock, 'now'> },
): Promise<void> {
  const copy = join(programsFolder(home), '.trial');
  try {
    await rm(copy, { recursive: true, force: true });
    await restoreBackup({ file: backup, home: copy, continues: false, stamp: 'trial', clock });
    const launcher = join(folder, 'dist', 'launcher.cjs');
    const ended = await runProgram(node, [launcher, 'upgrade', '--rehearse', '--home', copy], {
      env,
      seconds: TRIAL_SECONDS,
    });
    const facts = ended.code === 0 ? readFacts(ended.out) : undefined;
    if (facts === undefined || facts.version !== version) {
      throw new AppError(
        'upgrade-trial',
        `Version ${version} did not start on a copy of the home: ${oneLine(ended.said || ended.out || `it ended with code ${ended.code}`, 300)}. Nothing was changed.`,
      );
    }
    if (facts.journal.oldestReader > journalMigrations.length) {
      throw new AppError(
        'upgrade-one-way',
        `Version ${version} changes the journal in a way that this version cannot read afterwards, so there is no automatic way back. Stop the assistant, make a backup, then install the package of that version (docs/install.md).`,
      );
    }
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}

function readFacts(out: string): z.output<typeof trialSchema> | undefined {
  try {
    return trialSchema.safeParse(JSON.parse(out)).data;
  } catch {
    return undefined;
  }
}
