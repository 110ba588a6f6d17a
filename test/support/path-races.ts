import { execFileSync, spawn } from 'node:child_process';
import { lstat, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { PathGuard } from '../../src/core/security/paths/open-inside.ts';
import type { PathCaller } from '../../src/core/security/paths/rules.ts';
import { editFileTool } from '../../src/extensions/files/edit.ts';
import { listDirTool } from '../../src/extensions/files/list-dir.ts';
import { readFileTool } from '../../src/extensions/files/read-file.ts';
import { grepTool } from '../../src/extensions/files/search/search.ts';
import { writeFileTool } from '../../src/extensions/files/write-file.ts';
import { ToolRegistry } from '../../src/core/tools/registry/registry.ts';
import type { ToolResult } from '../../src/core/tools/tool.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { AppError } from '../../src/core/util/errors.ts';
import { findHere } from './file-tools.ts';
import { contextOf, GUEST, OWNER, pathWorld, TAINTED, type PathWorld } from './path-world.ts';

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
  /** One try: a call of a tool. An `AppError` is a refusal. */
  attempt(call: RaceCall, round: number, guard: PathGuard): Promise<Pick<ToolResult, 'output' | 'isError'>>;
  /** What a call that got through may answer. @default anything */
  readonly answers?: RegExp;
  /** What is swapped is only met on the way, so that no call is refused. */
  readonly isPassedOver?: true;
}

/** Calls a tool on behalf of somebody, whom nobody answers. */
type RaceCall = (name: string, args: Readonly<Record<string, unknown>>, caller?: PathCaller) => Promise<ToolResult>;

/** What stands in files that no call of a race may show. */
const SECRETS = /OUTSIDE|CONFIG|PRIVATE|hidden/u;

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
  const call = raceTools(guard);
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
      const { output, isError } = await race.attempt(call, round, guard).catch((error: unknown) => {
        if (error instanceof AppError) return { output: error.message, isError: true };
        throw error;
      });
      expect(output).not.toMatch(SECRETS);
      const passed = isError !== true;
      if (passed) expect(output).toMatch(race.answers ?? /./u);
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

/** The file tools, as the program calls them; the search runs in this thread. */
function raceTools(guard: PathGuard): RaceCall {
  const registry = new ToolRegistry({
    policy: { allow: ['*'], deny: [], guest: ['*'] },
    clock: systemClock,
    redact: (text) => text,
    maxOutput: 16_000,
  });
  const pageChars = 15_000;
  const files = { guard, changes: { recordChange: async () => {} } };
  registry.register(readFileTool({ guard, pageChars, readDocument: () => Promise.reject(new Error('no document')) }));
  registry.register(listDirTool(guard));
  registry.register(writeFileTool(files));
  registry.register(editFileTool(files));
  registry.register(grepTool({ guard, pageChars, find: findHere }));
  return (name, args, caller = OWNER) => registry.run({ name, arguments: JSON.stringify(args) }, contextOf(caller));
}

const READ = /^1\tinside$/u;

const read =
  (path: string, caller?: PathCaller): Race['attempt'] =>
  (call) =>
    call('read_file', { path }, caller);

const write =
  (pathOf: (round: number) => string, caller?: PathCaller): Race['attempt'] =>
  (call, round) =>
    call('write_file', { path: pathOf(round), content: 'inside' }, caller);

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
    attempt: read('swap'),
    answers: READ,
  },
  'reading through a folder that leads outside': {
    prepare: between(notes, outside),
    attempt: read('swap/secret.txt'),
    answers: READ,
  },
  'reading in a folder that becomes a link': {
    way: 'folder',
    prepare: async (world) => {
      await mkdir(join(world.workspace, 'swap'));
      await writeFile(join(world.workspace, 'swap', 'secret.txt'), 'inside');
      return { good: 'swap', bad: outside(world) };
    },
    attempt: read('swap/secret.txt'),
    answers: READ,
  },
  "reading through a link to the assistant's configuration": {
    prepare: between(inside, (world) => join(world.home, 'config.json')),
    attempt: read('swap'),
    answers: READ,
  },
  "reading the owner's memory as a guest": {
    prepare: between(inside, (world) => join(world.workspace, 'memory', 'MEMORY.md')),
    attempt: read('swap', { ...GUEST, taint: { untrusted: false } }),
    answers: READ,
  },
  'reading credentials that nobody allowed': {
    prepare: between(inside, (world) => join(world.workspace, '.env')),
    attempt: read('swap'),
    answers: READ,
  },
  'reading a file that becomes a pipe': {
    prepare: async (world) => {
      execFileSync('mkfifo', [join(world.workspace, 'pipe')]);
      return await between(inside, () => join(world.workspace, 'pipe'))(world);
    },
    attempt: read('swap'),
    answers: READ,
  },
  'listing a folder that leads outside': {
    prepare: async (world) => {
      await writeFile(join(outside(world), 'hidden'), 'x');
      return await between(notes, outside)(world);
    },
    attempt: (call) => call('list_dir', { path: 'swap' }),
    answers: /^secret\.txt {2}\d bytes$/u,
  },
  'searching a workspace in which a folder becomes a link': {
    way: 'folder',
    prepare: async (world) => {
      await mkdir(join(world.workspace, 'swap'));
      await writeFile(join(world.workspace, 'swap', 'secret.txt'), 'inside');
      return { good: 'swap', bad: outside(world) };
    },
    attempt: (call) => call('grep', { pattern: 'inside|OUTSIDE|CONFIG', context: 1 }),
    isPassedOver: true,
  },
  'searching in a file that leads outside': {
    prepare: between(inside, (world) => join(outside(world), 'secret.txt')),
    attempt: (call) => call('grep', { pattern: '.', path: 'swap' }),
    answers: /inside/u,
  },
  'editing a file through a link that leads outside': {
    prepare: between(inside, (world) => join(outside(world), 'secret.txt')),
    attempt: (call) => call('edit_file', { path: 'swap', oldText: 'inside', newText: 'inside' }),
  },
  'writing into a folder that leads outside': {
    prepare: between(notes, outside),
    attempt: write((round) => `swap/w${round % 50}.txt`),
  },
  'writing in a folder that becomes a link': {
    way: 'folder',
    prepare: async (world) => {
      await mkdir(join(world.workspace, 'swap'));
      return { good: 'swap', bad: outside(world) };
    },
    attempt: write((round) => `swap/w${round % 50}.txt`),
  },
  'making folders beneath one that leads outside': {
    prepare: between(notes, outside),
    attempt: write((round) => `swap/d${round}/e/w.txt`),
  },
  'replacing a file through a link that leads outside': {
    prepare: between(inside, (world) => join(outside(world), 'secret.txt')),
    attempt: write(() => 'swap'),
  },
  'writing to a name that becomes a hard link to the configuration': {
    way: 'hardlink',
    prepare: async (world) => {
      await writeFile(join(world.workspace, 'swap'), 'inside');
      return { good: inside(world), bad: join(world.home, 'config.json') };
    },
    attempt: write(() => 'swap'),
  },
  'writing skills in a tainted turn': {
    prepare: between(notes, (world) => join(world.workspace, 'skills')),
    attempt: write((round) => `swap/w${round % 50}.txt`, TAINTED),
  },
  'removing a file in a folder that leads outside': {
    prepare: between(notes, outside),
    attempt: async (call, _round, guard) => {
      using place = await guard.openInside('swap/secret.txt', 'write', OWNER);
      await place.remove();
      // The next try finds it again.
      return await call('write_file', { path: 'notes/secret.txt', content: 'inside' });
    },
  },
};
