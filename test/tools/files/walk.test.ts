import { execFileSync } from 'node:child_process';
import { closeSync, readFileSync } from 'node:fs';
import { link, mkdir, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { PathGuard, PathGuardOptions } from '../../../src/core/security/paths/open-inside.ts';
import type { PathCaller } from '../../../src/core/security/paths/rules.ts';
import { openAllowed } from '../../../src/core/files/access.ts';
import { searchBaseOf } from '../../../src/extensions/files/search/search.ts';
import {
  NOT_ENTERED,
  walkFiles,
  type LeftOut,
  type WalkBase,
  type WalkedFile,
  type WalkOptions,
} from '../../../src/extensions/files/search/walk.ts';
import {
  contextOf,
  decide,
  GUEST,
  OWNER,
  pathWorld,
  readThrough,
  TAINTED,
  TRUSTED,
  type PathUse,
  type PathWorld,
} from '../../support/path-world.ts';

const OPTIONS = { ignored: true, isOver: () => false, wants: () => true };

interface Walked {
  /** What each file that could be opened holds, by its path from the base on. */
  readonly texts: Readonly<Record<string, string>>;
  readonly names: readonly string[];
  readonly left: LeftOut;
}

/** Walks, and opens each file after `meanwhile` was done. */
async function walk(
  base: WalkBase,
  meanwhile: (file: WalkedFile) => Promise<unknown> = async () => {},
  options: Partial<WalkOptions> = {},
): Promise<Walked> {
  const texts: Record<string, string> = {};
  const names: string[] = [];
  const visit = async (file: WalkedFile): Promise<void> => {
    names.push(file.below);
    await meanwhile(file);
    const opened = await file.open();
    if (opened === undefined) return;
    texts[file.below] = readFileSync(opened.fd, 'utf8');
    closeSync(opened.fd);
  };
  const left = await walkFiles(base, { ...OPTIONS, visit, ...options });
  return { texts, names, left };
}

/** Where a walk begins. */
async function baseOf(guard: PathGuard, path: string, use: PathUse = OWNER): Promise<WalkBase> {
  const context = contextOf(use);
  using place = await openAllowed(guard, { path, access: 'read' }, context);
  return (await searchBaseOf(guard, place, context)).base;
}

/** A workspace with everything in it that is closed to somebody. */
async function nastyTree(world: PathWorld): Promise<void> {
  const { root, workspace } = world;
  const put = async (path: string, text = path): Promise<void> => {
    await mkdir(join(workspace, path, '..'), { recursive: true });
    await writeFile(join(workspace, path), text);
  };
  for (const path of [
    'b/c/deep.txt',
    '.env',
    '.env.example',
    'b/.ssh/id_rsa',
    'key.pem',
    'memory/MEMORY.md',
    'USER.md',
  ]) {
    await put(path);
  }
  for (const path of ['SOUL.md', '.bashrc', 'node_modules/x.txt', 'Grüße 你好.txt', 'x (deleted)']) await put(path);
  await symlink(join(root, 'outside', 'secret.txt'), join(workspace, 'out.txt'));
  await symlink(join(root, 'outside'), join(workspace, 'out'));
  await symlink('b', join(workspace, 'inner'));
  await symlink('a.txt', join(workspace, 'alias.txt'));
  await symlink('.', join(workspace, 'loop'));
  await link(join(workspace, 'a.txt'), join(workspace, 'a-twin.txt'));
}

/** Every plain file below a folder that no link leads to. */
async function plainFiles(folder: string, below = ''): Promise<string[]> {
  const entries = await readdir(join(folder, below), { withFileTypes: true });
  const found = await Promise.all(
    entries.map(async (entry) => {
      const path = join(below, entry.name);
      if (entry.isDirectory()) return NOT_ENTERED.has(entry.name) ? [] : await plainFiles(folder, path);
      return entry.isFile() ? [path] : [];
    }),
  );
  return found.flat();
}

const CALLERS: readonly (readonly [string, PathCaller])[] = [
  ['the owner', OWNER],
  ['the owner among others', { ...OWNER, chatType: 'group' }],
  ['the owner with strangers around', TAINTED],
  ['somebody who is trusted', TRUSTED],
  ['a guest', GUEST],
];

describe('a walk opens exactly what the guard opens one by one', () => {
  test.each(CALLERS)('for %s', async (_name, caller) => {
    await using world = await pathWorld();
    await nastyTree(world);
    const settings: readonly (readonly [string, Partial<PathGuardOptions>])[] = [
      [world.workspace, {}],
      [world.home, { restrictToWorkspace: false }],
      [world.root, { restrictToWorkspace: false }],
      [join(world.root, 'outside'), { readRoots: [join(world.root, 'outside')] }],
    ];
    for (const [folder, options] of settings) {
      const guard = world.guard(options);
      const base = await baseOf(guard, folder, caller).catch(() => undefined);
      if (base === undefined) continue;
      const expected: Record<string, string> = {};
      for (const path of await plainFiles(folder)) {
        const text = await readOpen(guard, folder, path, caller);
        if (text !== undefined) expected[path] = text;
      }
      expect((await walk(base)).texts).toEqual(expected);
    }
  });

  test('which is something in each of these places', async () => {
    await using world = await pathWorld();
    await nastyTree(world);
    const { texts, left } = await walk(await baseOf(world.guard(), '.', OWNER));
    expect(Object.keys(texts)).toEqual([
      '.env.example',
      'Grüße 你好.txt',
      'SOUL.md',
      'USER.md',
      'a-twin.txt',
      'a.txt',
      'b/c/deep.txt',
      'memory/MEMORY.md',
    ]);
    expect(left.closed).toBeGreaterThanOrEqual(5);
  });
});

/** A folder that needs a yes is not entered, whatever lies in it. */
async function readOpen(
  guard: PathGuard,
  folder: string,
  path: string,
  caller: PathCaller,
): Promise<string | undefined> {
  const parts = path.split('/');
  for (let n = 1; n < parts.length; n += 1) {
    const above = await decide(guard, join(folder, ...parts.slice(0, n)), 'read', caller);
    if (above.decision !== 'allow') return undefined;
  }
  return await readThrough(guard, join(folder, path), caller).catch(() => undefined);
}

describe('what is asked about', () => {
  test('is searched where the walk begins at it, after a yes, and nowhere else', async () => {
    await using world = await pathWorld();
    await nastyTree(world);
    const guard = world.guard();
    await expect(baseOf(guard, '.env', OWNER)).rejects.toThrow('needs a yes');
    const env = await baseOf(guard, '.env', { ...OWNER, approved: join(world.workspace, '.env') });
    expect((await walk(env)).texts).toEqual({ '': '.env' });
    const ssh = await baseOf(guard, 'b/.ssh', { ...OWNER, approved: join(world.workspace, 'b/.ssh') });
    expect(await walk(ssh)).toMatchObject({ texts: {}, names: ['id_rsa'], left: { closed: 1 } });
  });

  test('is no walk for a base that became a link since', async () => {
    await using world = await pathWorld();
    await mkdir(join(world.workspace, 'sub'));
    const base = await baseOf(world.guard(), 'sub', OWNER);
    await rm(join(world.workspace, 'sub'), { recursive: true });
    await symlink(join(world.root, 'outside'), join(world.workspace, 'sub'));
    await expect(walk(base)).rejects.toThrow('changed while it was being opened');
  });
});

describe('what is swapped while the walk goes on', () => {
  test('a file for a link leads nowhere', async () => {
    await using world = await pathWorld();
    const base = await baseOf(world.guard(), '.', OWNER);
    const { texts, left } = await walk(base, async ({ path }) => {
      await rm(path);
      await symlink(join(world.root, 'outside', 'secret.txt'), path);
    });
    expect([texts, left.closed]).toEqual([{}, 1]);
  });

  test('a file for a link to another open file is not read, nor is a pipe', async () => {
    await using world = await pathWorld();
    await writeFile(join(world.workspace, 'notes', 'b.txt'), 'b');
    const base = await baseOf(world.guard(), '.', OWNER);
    const swap = [
      (path: string) => symlink(join(world.workspace, 'notes', 'b.txt'), path),
      async (path: string) => void execFileSync('/usr/bin/env', ['mkfifo', path]),
    ];
    const { texts } = await walk(base, async ({ path }) => {
      await rm(path);
      await swap.shift()?.(path);
    });
    expect([texts, swap]).toEqual([{}, []]);
  });

  test('a folder that is a closed place meanwhile is closed', async () => {
    await using world = await pathWorld();
    await writeFile(join(world.workspace, 'notes', 'b.txt'), 'b');
    const base = await baseOf(world.guard(), 'notes', OWNER);
    const { texts } = await walk(base, () => rename(join(world.workspace, 'notes'), join(world.workspace, '.ssh')));
    expect(texts).toEqual({});
  });

  test('a folder for a link leaves the walk in the folder that was judged', async () => {
    await using world = await pathWorld();
    await writeFile(join(world.workspace, 'notes', 'secret.txt'), 'mine');
    const base = await baseOf(world.guard(), 'notes', OWNER);
    const { texts } = await walk(base, async () => {
      await rename(join(world.workspace, 'notes'), join(world.workspace, 'moved'));
      await symlink(join(world.root, 'outside'), join(world.workspace, 'notes'));
    });
    expect(texts).toEqual({ 'secret.txt': 'mine' });
  });

  test('a file that is gone is passed over', async () => {
    await using world = await pathWorld();
    const base = await baseOf(world.guard(), '.', OWNER);
    const { texts } = await walk(base, async ({ path, look }) => {
      await rm(path);
      expect(look()).toBeUndefined();
    });
    expect(texts).toEqual({});
  });
});

test('a walk ends at its most entries, or when it is told to', async () => {
  await using world = await pathWorld();
  for (let n = 0; n < 10; n += 1) await writeFile(join(world.workspace, `f${n}`), '');
  const base = await baseOf(world.guard(), '.', OWNER);
  const few = await walk(base, undefined, { maxEntries: 4 });
  expect([few.names.length, few.left.isTooMuch]).toEqual([4, true]);
  const none = await walk(base, undefined, { isOver: () => true });
  expect([none.names, none.left.isTooMuch]).toEqual([[], false]);
});

test('what is read of the rules is plain data that another thread can be given', async () => {
  await using world = await pathWorld();
  const base = await baseOf(world.guard(), '.', OWNER);
  expect(structuredClone(base)).toEqual(base);
});
