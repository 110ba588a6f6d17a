import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, linkSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import type * as fs from 'node:fs/promises';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { pin, sameInode } from '../../src/core/security/paths/descriptors.ts';
import { replaceIn } from '../../src/core/security/paths/inodes.ts';
import { systemRandom } from '../../src/core/util/random.ts';
import { OWNER, pathWorld, TAINTED } from '../support/path-world.ts';

/** What happens in the moment after a folder was made or before a file is opened, and how many names a folder has. */
const play = vi.hoisted(() => ({
  afterMkdir: (_path: string): void => {},
  beforeOpen: (_path: string): void => {},
  endless: false,
  taken: 0,
}));

vi.mock('node:fs/promises', async (original) => {
  const real = await original<typeof fs>();
  const made = async (...[path, options]: Parameters<typeof real.mkdir>): Promise<string | undefined> => {
    const result = await real.mkdir(path, options);
    play.afterMkdir(String(path));
    return result;
  };
  const open = async (...[path, flags, mode]: Parameters<typeof real.open>): Promise<fs.FileHandle> => {
    play.beforeOpen(String(path));
    return await real.open(path, flags, mode);
  };
  async function* names(): AsyncGenerator<{ name: string }> {
    for (play.taken = 0; play.taken < 50_000; play.taken += 1) yield { name: `n${play.taken}` };
  }
  const opendir = async (path: string): Promise<unknown> => (play.endless ? names() : real.opendir(path));
  return { ...real, mkdir: made, open, opendir };
});

afterEach(() => {
  play.afterMkdir = () => {};
  play.beforeOpen = () => {};
  play.endless = false;
  vi.restoreAllMocks();
});

const BYTES = Buffer.from('new');

describe('where something may not be written', () => {
  test('no folder is made either', async () => {
    await using world = await pathWorld();
    const path = 'skills/new/deep/SKILL.md';
    await expect(world.guard().writeFile(path, BYTES, TAINTED)).rejects.toThrow('needs a yes');
    expect(existsSync(join(world.workspace, 'skills'))).toBe(false);
    await world.guard().writeFile(path, BYTES, { ...TAINTED, approved: () => true });
    expect(await readFile(join(world.workspace, path), 'utf8')).toBe('new');
  });

  test('a yes opens nothing that is closed to everybody', async () => {
    await using world = await pathWorld();
    const use = { ...OWNER, approved: () => true };
    for (const path of ['../config.json', '../../outside/secret.txt', 'cron/jobs.json']) {
      await expect(world.guard().writeFile(path, BYTES, use)).rejects.toMatchObject({ code: 'path-refused' });
    }
    expect(await readFile(join(world.home, 'config.json'), 'utf8')).toBe('CONFIG');
  });

  test('a session writes nothing into what it may read of its own', async () => {
    await using world = await pathWorld();
    const own = join(world.home, 'spill', 'one');
    await mkdir(own, { recursive: true });
    const guard = world.guard({ restrictToWorkspace: false });
    const caller = { ...OWNER, readRoots: [own] };
    expect(await guard.check(own, 'read', caller)).toMatchObject({ decision: 'allow' });
    expect(await guard.check(join(own, 'x'), 'write', caller)).toMatchObject({ decision: 'deny' });
  });

  test('a link that takes the place of a folder that was just made is not followed', async () => {
    await using world = await pathWorld();
    const outside = join(world.root, 'outside');
    play.afterMkdir = (path) => {
      if (!path.endsWith('/fresh')) return;
      renameSync(path, `${path}-aside`);
      symlinkSync(outside, path);
    };
    await expect(world.guard().writeFile('fresh/deep/w.txt', BYTES, OWNER)).rejects.toMatchObject({
      code: 'path-refused',
    });
    expect(await readdir(outside)).toEqual(['secret.txt']);
  });
});

test('a file that changed after it was read is not removed', async () => {
  await using world = await pathWorld();
  const { handle, stat } = await world.guard().openForReading('a.txt', OWNER);
  await handle.close();
  await writeFile(join(world.workspace, 'a.txt'), 'changed meanwhile');
  await expect(world.guard().removeFile('a.txt', { ...OWNER, unchangedSince: stat })).rejects.toThrow('changed');
  expect(existsSync(join(world.workspace, 'a.txt'))).toBe(true);
});

test('a file on another disk is another one, whatever its number', () => {
  expect(sameInode({ dev: 1, ino: 7 }, { dev: 1, ino: 7 })).toBe(true);
  expect(sameInode({ dev: 1, ino: 7 }, { dev: 2, ino: 7 })).toBe(false);
});

test('a decision that cannot be made is a no', async () => {
  await using world = await pathWorld();
  await symlink('circle', join(world.workspace, 'circle'));
  for (const path of ['a\0b', '', 'circle', 'circle/x']) {
    expect(await world.guard().check(path, 'read', OWNER), path).toMatchObject({ decision: 'deny' });
  }
});

test('of a folder without an end no more than 10,000 names are taken', async () => {
  await using world = await pathWorld();
  play.endless = true;
  const { more } = await world.guard().list('notes', OWNER);
  expect(more).toBe(true);
  expect(play.taken).toBeLessThanOrEqual(10_001);
});

test('what lies in no folder is not opened by its descriptor', async () => {
  const child = spawn('cat', { stdio: ['pipe', 'pipe', 'ignore'] });
  await once(child, 'spawn');
  await expect(pin(`/proc/${child.pid}/fd/0`)).rejects.toMatchObject({
    code: 'path-refused',
    message: `/proc/${child.pid}/fd/0 is not a file in a folder.`,
  });
  child.kill();
  await once(child, 'close');
});

test('a link at the end of a path is opened as a link where it must not be followed', async () => {
  await using world = await pathWorld();
  await symlink(join(world.root, 'outside', 'secret.txt'), join(world.workspace, 'link'));
  await using pinned = await pin(join(world.workspace, 'link'), { noFollow: true });
  expect([pinned.path, pinned.stat.isSymbolicLink()]).toEqual([join(world.workspace, 'link'), true]);
});

test('new bytes are not written into something that was put in their way', async () => {
  await using world = await pathWorld();
  vi.spyOn(systemRandom, 'bytes').mockImplementation((length) => new Uint8Array(length));
  const secret = join(world.root, 'outside', 'secret.txt');
  await symlink(secret, join(world.workspace, '.000000000000.tmp'));
  await using folder = await pin(world.workspace);
  await expect(replaceIn(folder, 'a.txt', BYTES, 0o600)).rejects.toMatchObject({ code: 'EEXIST' });
  expect(await readFile(secret, 'utf8')).toBe('OUTSIDE');
});

describe('on a system without /proc', () => {
  let elsewhere: typeof pin;

  beforeAll(async () => {
    const platform = Object.getOwnPropertyDescriptor(process, 'platform') ?? {};
    Object.defineProperty(process, 'platform', { ...platform, value: 'darwin' });
    vi.resetModules();
    ({ pin: elsewhere } = await import('../../src/core/security/paths/descriptors.ts'));
    Object.defineProperty(process, 'platform', platform);
  });

  const opened = (): string[] => {
    const paths: string[] = [];
    play.beforeOpen = (path) => void paths.push(path);
    return paths;
  };

  test('a file is opened by its real path', async () => {
    await using world = await pathWorld();
    await symlink('a.txt', join(world.workspace, 'link'));
    const paths = opened();
    await using pinned = await elsewhere(join(world.workspace, 'link'));
    expect([pinned.path, pinned.stat.size, paths]).toEqual([join(world.workspace, 'a.txt'), 6, [pinned.path]]);
  });

  test('what is neither a file nor a folder is named and not opened', async () => {
    await using world = await pathWorld();
    const [pipe, link] = [join(world.workspace, 'pipe'), join(world.workspace, 'link')];
    execFileSync('mkfifo', [pipe]);
    await symlink('a.txt', link);
    const paths = opened();
    await using first = await elsewhere(pipe);
    await using second = await elsewhere(link, { noFollow: true });
    expect([first.stat.isFIFO(), second.stat.isSymbolicLink(), paths]).toEqual([true, true, []]);
  });

  test.each([
    ['another file', (path: string) => writeFileSync(path, 'other'), 'changed while it was being opened'],
    ['a link', (path: string) => symlinkSync('notes', path), 'ELOOP'],
    ['a pipe, which is not waited for', (path: string) => execFileSync('mkfifo', [path]), 'changed while'],
  ])('%s that takes its place meanwhile is refused', async (_what, put, why) => {
    await using world = await pathWorld();
    play.beforeOpen = (path) => {
      renameSync(path, `${path}-aside`);
      put(path);
    };
    await expect(elsewhere(join(world.workspace, 'a.txt'))).rejects.toThrow(why);
  });

  test('a file that gets a second name meanwhile is refused', async () => {
    await using world = await pathWorld();
    play.beforeOpen = (path) => linkSync(path, join(world.root, 'second'));
    await expect(elsewhere(join(world.workspace, 'a.txt'))).rejects.toThrow('changed while it was being opened');
  });
});
