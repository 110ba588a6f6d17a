import { createHash } from 'node:crypto';
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir, readdir, rename, rm, stat, symlink, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildProgram } from '../../program.config.ts';
import { errorCode } from '../../src/core/util/errors.ts';
import { childEnvironment } from './child-environment.ts';
import { waitFor } from './wait.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const CACHE = join(ROOT, 'node_modules', '.cache', 'assistant-test');
/** What a built program is made of. */
const MADE_OF = [
  'src',
  'test/support',
  'program.config.ts',
  'page.config.ts',
  'packages.config.ts',
  'package-lock.json',
];
/** Programs of `test/support` that hold a whole assistant. */
const CHILDREN = ['crash-child', 'dying-child'] as const;
/** What lies beside `dist` in the published package. */
export const BESIDE_PROGRAM = [
  'skills',
  'workspace-template',
  'docs',
  'package.json',
  'README.md',
  'CHANGELOG.md',
  'LICENSE',
];
/** Those that were used last stay: one for each state of the sources that somebody goes back and forth between. */
const KEPT = 3;

export interface BuiltProgram {
  /** Its package: `dist` and what lies beside it. */
  readonly folder: string;
  /** Starts it as `assistant` does. */
  readonly launcher: string;
  /** What the launcher loads. */
  readonly main: string;
  readonly child: (name: (typeof CHILDREN)[number]) => string;
  /** The environment of a process that runs it, as `childEnvironment`; what Node compiled is kept beside the program. */
  readonly environment: (extra?: Readonly<Record<string, string>>) => Record<string, string>;
}

let found: Promise<BuiltProgram> | undefined;

/**
 * The program as it is published, built from the sources as they are now: it starts in half the time. All processes of
 * a test run, and later runs of the same sources, share one.
 */
export function builtProgram(): Promise<BuiltProgram> {
  return (found ??= find());
}

async function find(): Promise<BuiltProgram> {
  await mkdir(CACHE, { recursive: true });
  const folder = join(CACHE, await stateOfSources());
  const isThere = (): Promise<boolean> => stat(folder).then(Boolean, () => false);
  await waitFor(async () => (await isThere()) || (await buildAlone(folder)), {
    timeoutMs: 180_000,
    what: 'the program that another process builds',
  });
  await utimes(folder, new Date(), new Date());
  const dist = join(folder, 'dist');
  return {
    folder,
    launcher: join(dist, 'launcher.cjs'),
    main: join(dist, 'main.js'),
    child: (name) => join(dist, `${name}.js`),
    environment: (extra) => childEnvironment({ NODE_COMPILE_CACHE: join(folder, 'compiled'), ...extra }),
  };
}

/** Builds it unless another process does, which is false. */
async function buildAlone(folder: string): Promise<boolean> {
  const lock = `${folder}.lock`;
  if (!take(lock)) return false;
  try {
    await removeOld();
    const half = `${folder}.${process.pid}`;
    await buildProgram(
      join(half, 'dist'),
      CHILDREN.map((name) => join('test/support', `${name}.ts`)),
    );
    for (const name of BESIDE_PROGRAM) await symlink(join(ROOT, name), join(half, name));
    await rename(half, folder);
  } finally {
    rmSync(lock);
  }
  return true;
}

function take(lock: string): boolean {
  const own = `${lock}.${process.pid}`;
  writeFileSync(own, String(process.pid));
  try {
    linkSync(own, lock);
    return true;
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
    // Its builder was killed: whoever comes next builds.
    if (!isAlive(readFileSync(lock, 'utf8'))) rmSync(lock, { force: true });
    return false;
  } finally {
    rmSync(own);
  }
}

function isAlive(pid: string): boolean {
  try {
    return process.kill(Number(pid), 0);
  } catch {
    return false;
  }
}

async function removeOld(): Promise<void> {
  const names = await readdir(CACHE);
  const unfinished = names.filter((name) => /\.\d+$/u.test(name) && !isAlive(name.split('.').at(-1) ?? ''));
  for (const name of unfinished) await rm(join(CACHE, name), { recursive: true, force: true });
  const folders = names.filter((name) => /^[\da-f]+$/u.test(name));
  const dated = await Promise.all(
    folders.map(async (name) => ({ name, used: (await stat(join(CACHE, name))).mtimeMs })),
  );
  const old = dated.toSorted((a, b) => b.used - a.used).slice(KEPT - 1);
  for (const { name } of old) await rm(join(CACHE, name), { recursive: true, force: true });
}

/** Changes with every file that the program is built from. */
async function stateOfSources(): Promise<string> {
  const hash = createHash('sha256');
  for (const name of MADE_OF) {
    const path = join(ROOT, name);
    const below = (await stat(path)).isDirectory() ? await readdir(path, { recursive: true }) : [''];
    for (const file of below.toSorted()) {
      const { mtimeMs, size } = await stat(join(path, file));
      hash.update(`${join(name, file)} ${mtimeMs} ${size}\n`);
    }
  }
  return hash.digest('hex').slice(0, 16);
}
