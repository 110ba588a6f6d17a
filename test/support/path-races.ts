import { execFileSync, spawn } from 'node:child_process';
import { lstat, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { PathGuard } from '../../src/core/security/paths/guard.ts';
import { AppError } from '../../src/core/util/errors.ts';
import { GUEST, OWNER, pathWorld, readThrough, TAINTED, type PathWorld } from './path-world.ts';

/** How much a race must have seen before it ends. */
export interface RaceSize {
  readonly swaps: number;
  readonly tries: number;
}

export interface RaceFigures {
  readonly swaps: number;
  /** Tries that got through to where they may. */
  readonly passed: number;
  readonly refused: number;
}

/** Exchanges what `swap` is, in a process of its own, until it is killed; says how often each time it is asked. */
const SWAPPER = `
  const fs = require('node:fs');
  const [folder, ways, good, bad] = process.argv.slice(1);
  process.chdir(folder);
  const put = {
    link: (target) => { fs.symlinkSync(target, 'next'); fs.renameSync('next', 'swap'); },
    hardlink: (target) => { fs.linkSync(target, 'next'); fs.renameSync('next', 'swap'); fs.rmSync('next', { force: true }); },
    folder: (target, isGood) => {
      // The guard may make a folder in the moment in which there is none.
      const free = () => fs.rmSync('swap', { recursive: true, force: true });
      if (!isGood) {
        fs.rmSync('aside', { recursive: true, force: true });
        fs.renameSync('swap', 'aside');
      }
      for (;;) {
        try {
          if (isGood) { free(); fs.renameSync('aside', 'swap'); }
          else { free(); fs.symlinkSync(target, 'swap'); }
          return;
        } catch (error) {
          if (!['EEXIST', 'ENOTEMPTY', 'ENOTDIR', 'EISDIR'].includes(error.code)) throw error;
        }
      }
    },
  }[ways];
  let count = 0;
  const round = () => {
    for (let i = 0; i < 20; i += 1, count += 1) put(count % 2 ? good : bad, count % 2 === 1);
    setImmediate(round);
  };
  process.stdin.on('data', () => process.stdout.write(count + '\\n'));
  round();`;

type Way = 'link' | 'hardlink' | 'folder';

export interface Race {
  /** What is swapped: a link to other things, the name itself among hard links, or a folder and a link. */
  readonly way?: Way;
  /** Makes what is swapped, and says what: two places. */
  prepare(world: PathWorld): Promise<{ readonly good: string; readonly bad: string }>;
  /** One try; answers whether it got through. Throws what the guard throws. */
  attempt(guard: PathGuard, round: number): Promise<boolean>;
  /** Where only refusals can come out, since each way is closed. */
  readonly alwaysRefused?: boolean;
}

/** Runs a race and proves that nothing outside was touched; what `attempt` learned it checks itself. */
export async function runRace(race: Race, size: RaceSize): Promise<RaceFigures> {
  await using world = await pathWorld();
  const { workspace, root, home } = world;
  await mkdir(join(workspace, 'skills'));
  await mkdir(join(workspace, 'memory'));
  await writeFile(join(workspace, 'memory', 'MEMORY.md'), 'PRIVATE');
  await writeFile(join(workspace, '.env'), 'KEY=OUTSIDE');
  await writeFile(join(workspace, 'notes', 'secret.txt'), 'inside');
  const { good, bad } = await race.prepare(world);
  const before = await everything(root, home, workspace);
  const guard = world.guard();
  const child = spawn(process.execPath, ['-e', SWAPPER, workspace, race.way ?? 'link', good, bad], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = new Promise<never>((_, reject) => {
    child.once('close', () => reject(new Error('the swapper ended')));
  });
  ended.catch(() => {});
  child.stdin.on('error', () => {});
  const swapsSoFar = async (): Promise<number> => {
    const said = new Promise<number>((resolve) => {
      child.stdout.once('data', (chunk: Buffer) => resolve(Number(String(chunk).trim())));
    });
    child.stdin.write('?');
    return await Promise.race([said, ended]);
  };
  const seen = { passed: 0, refused: 0 };
  let swaps = await swapsSoFar();
  try {
    for (let round = 1; round <= size.tries || swaps < size.swaps; round += 1) {
      const passed = await race.attempt(guard, round).catch((error: unknown) => {
        if (error instanceof AppError) return false;
        throw error;
      });
      if (passed) seen.passed += 1;
      else seen.refused += 1;
      if (round % 50 === 0) swaps = await swapsSoFar();
    }
  } finally {
    child.kill('SIGKILL');
    await ended.catch(() => {});
  }
  expect(await everything(root, home, workspace)).toEqual(before);
  return { swaps, ...seen };
}

/** All that must stay as it was. */
async function everything(root: string, home: string, workspace: string): Promise<unknown> {
  const outside = await readdir(join(root, 'outside'));
  return {
    outside,
    secret: await readFile(join(root, 'outside', 'secret.txt'), 'utf8'),
    mode: (await lstat(join(root, 'outside', 'secret.txt'))).mode,
    home: (await readdir(home)).toSorted(),
    config: await readFile(join(home, 'config.json'), 'utf8'),
    skills: await readdir(join(workspace, 'skills')),
    memory: await readFile(join(workspace, 'memory', 'MEMORY.md'), 'utf8'),
    env: await readFile(join(workspace, '.env'), 'utf8'),
  };
}

/** True when the text is that of the allowed file; anything else than it is a leak. */
async function readsInside(guard: PathGuard, path: string, use = OWNER): Promise<boolean> {
  const text = await readThrough(guard, path, use);
  expect(text).toBe('inside');
  return true;
}

async function writes(guard: PathGuard, path: string, use = OWNER): Promise<boolean> {
  await guard.writeFile(path, Buffer.from('inside'), use);
  return true;
}

const inside = (world: PathWorld): string => join(world.workspace, 'a.txt');
const notes = (world: PathWorld): string => join(world.workspace, 'notes');
const outside = (world: PathWorld): string => join(world.root, 'outside');

function between(good: (world: PathWorld) => string, bad: (world: PathWorld) => string): Race['prepare'] {
  return async (world) => {
    await symlink(good(world), join(world.workspace, 'swap'));
    return { good: good(world), bad: bad(world) };
  };
}

/** Every way in which something could be swapped between a look and a use. */
export const RACES: Readonly<Record<string, Race>> = {
  'reading through a link that leads outside': {
    prepare: between(inside, (world) => join(outside(world), 'secret.txt')),
    attempt: (guard) => readsInside(guard, 'swap'),
  },
  'reading through a folder that leads outside': {
    prepare: between(notes, outside),
    attempt: (guard) => readsInside(guard, 'swap/secret.txt'),
  },
  'reading in a folder that becomes a link': {
    way: 'folder',
    prepare: async (world) => {
      await mkdir(join(world.workspace, 'swap'));
      await writeFile(join(world.workspace, 'swap', 'secret.txt'), 'inside');
      return { good: 'swap', bad: outside(world) };
    },
    attempt: (guard) => readsInside(guard, 'swap/secret.txt'),
  },
  "reading through a link to the assistant's configuration": {
    prepare: between(inside, (world) => join(world.home, 'config.json')),
    attempt: (guard) => readsInside(guard, 'swap'),
  },
  'reading a name that becomes a hard link to the configuration': {
    way: 'hardlink',
    prepare: async (world) => {
      await writeFile(join(world.workspace, 'swap'), 'inside');
      return { good: inside(world), bad: join(world.home, 'config.json') };
    },
    attempt: (guard) => readsInside(guard, 'swap'),
  },
  "reading the owner's memory as a guest": {
    prepare: between(inside, (world) => join(world.workspace, 'memory', 'MEMORY.md')),
    attempt: (guard) => readsInside(guard, 'swap', GUEST),
  },
  'reading credentials that nobody allowed': {
    prepare: between(inside, (world) => join(world.workspace, '.env')),
    attempt: (guard) => readsInside(guard, 'swap', { ...OWNER }),
  },
  'reading a file that becomes a pipe': {
    prepare: async (world) => {
      execFileSync('mkfifo', [join(world.workspace, 'pipe')]);
      return await between(inside, () => join(world.workspace, 'pipe'))(world);
    },
    attempt: (guard) => readsInside(guard, 'swap'),
  },
  'listing a folder that leads outside': {
    prepare: async (world) => {
      await writeFile(join(outside(world), 'hidden'), 'x');
      return await between(notes, outside)(world);
    },
    attempt: async (guard) => {
      const { entries } = await guard.list('swap', OWNER);
      expect(entries).toEqual([{ name: 'secret.txt', kind: 'file', size: 6 }]);
      return true;
    },
  },
  'writing into a folder that leads outside': {
    prepare: between(notes, outside),
    attempt: (guard, round) => writes(guard, `swap/w${round % 50}.txt`),
  },
  'writing in a folder that becomes a link': {
    way: 'folder',
    prepare: async (world) => {
      await mkdir(join(world.workspace, 'swap'));
      return { good: 'swap', bad: outside(world) };
    },
    attempt: (guard, round) => writes(guard, `swap/w${round % 50}.txt`),
  },
  'making folders beneath one that leads outside': {
    prepare: between(notes, outside),
    attempt: (guard, round) => writes(guard, `swap/d${round}/e/w.txt`),
  },
  'replacing a file through a link that leads outside': {
    prepare: between(inside, (world) => join(outside(world), 'secret.txt')),
    attempt: (guard) => writes(guard, 'swap'),
  },
  'writing to a name that becomes a hard link to the configuration': {
    way: 'hardlink',
    prepare: async (world) => {
      await writeFile(join(world.workspace, 'swap'), 'inside');
      return { good: inside(world), bad: join(world.home, 'config.json') };
    },
    attempt: (guard) => writes(guard, 'swap'),
    alwaysRefused: true,
  },
  'writing skills in a tainted turn': {
    prepare: between(notes, (world) => join(world.workspace, 'skills')),
    attempt: (guard, round) => writes(guard, `swap/w${round % 50}.txt`, TAINTED),
  },
  'removing a file in a folder that leads outside': {
    prepare: between(notes, outside),
    attempt: async (guard) => {
      const { handle, stat } = await guard.openForReading('swap/secret.txt', OWNER);
      await handle.close();
      await guard.removeFile('swap/secret.txt', { ...OWNER, unchangedSince: stat });
      // The next try finds it again, wherever the link leads now only the folder inside lacks it.
      await guard.writeFile('notes/secret.txt', Buffer.from('inside'), OWNER);
      return true;
    },
  },
};
