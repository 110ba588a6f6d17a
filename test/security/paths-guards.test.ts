import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import type * as fs from 'node:fs/promises';
import { mkdir, readdir, readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { CALLS, isSameFile, pin } from '../../src/core/security/paths/pinned.ts';
import { systemRandom } from '../../src/core/util/random.ts';
import { decide, listThrough, OWNER, pathWorld, TAINTED, writeTo } from '../support/path-world.ts';

/** What happens in the moment after a folder was made, and how many names a folder has. */
const play = vi.hoisted(() => ({ afterMkdir: (_path: string): void => {}, endless: false, taken: 0 }));

vi.mock('node:fs/promises', async (original) => {
  const real = await original<typeof fs>();
  const made = async (...[path, options]: Parameters<typeof real.mkdir>): Promise<string | undefined> => {
    const result = await real.mkdir(path, options);
    play.afterMkdir(String(path));
    return result;
  };
  async function* names(): AsyncGenerator<{ name: string }> {
    for (play.taken = 0; play.taken < 50_000; play.taken += 1) yield { name: `n${play.taken}` };
  }
  const opendir = async (path: string): Promise<unknown> => (play.endless ? names() : real.opendir(path));
  return { ...real, mkdir: made, opendir };
});

afterEach(() => {
  play.afterMkdir = () => {};
  play.endless = false;
  vi.restoreAllMocks();
});

describe('where something may not be written', () => {
  test('no folder is made either', async () => {
    await using world = await pathWorld();
    const path = 'skills/new/deep/SKILL.md';
    await expect(writeTo(world.guard(), path, 'new', TAINTED)).rejects.toThrow('needs a yes');
    expect(existsSync(join(world.workspace, 'skills'))).toBe(false);
    await writeTo(world.guard(), path, 'new', { ...TAINTED, approved: join(world.workspace, path) });
    expect(await readFile(join(world.workspace, path), 'utf8')).toBe('new');
  });

  test('a yes opens nothing that is closed to everybody', async () => {
    await using world = await pathWorld();
    for (const path of ['../config.json', '../../outside/secret.txt', 'cron/jobs.json']) {
      const use = { ...OWNER, approved: join(world.workspace, path) };
      await expect(writeTo(world.guard(), path, 'new', use)).rejects.toMatchObject({ code: 'path-refused' });
    }
    expect(await readFile(join(world.home, 'config.json'), 'utf8')).toBe('CONFIG');
  });

  test('a session writes nothing into what it may read of its own', async () => {
    await using world = await pathWorld();
    const own = join(world.home, 'spill', 'one');
    await mkdir(own, { recursive: true });
    const guard = world.guard({ restrictToWorkspace: false });
    const caller = { ...OWNER, readRoots: [own] };
    expect(await decide(guard, own, 'read', caller)).toMatchObject({ decision: 'allow' });
    expect(await decide(guard, join(own, 'x'), 'write', caller)).toMatchObject({ decision: 'deny' });
  });

  test('a link that takes the place of a folder that was just made is not followed', async () => {
    await using world = await pathWorld();
    const outside = join(world.root, 'outside');
    play.afterMkdir = (path) => {
      if (!path.endsWith('/fresh')) return;
      renameSync(path, `${path}-aside`);
      symlinkSync(outside, path);
    };
    await expect(writeTo(world.guard(), 'fresh/deep/w.txt', 'new', OWNER)).rejects.toMatchObject({
      code: 'path-refused',
    });
    expect(await readdir(outside)).toEqual(['secret.txt']);
  });
});

test('a file on another disk is another one, whatever its number', async () => {
  const stat = await CALLS.lstat('/etc/hostname');
  expect([isSameFile(stat, stat), isSameFile(stat, Object.assign(Object.create(stat), { dev: -1 }))]).toEqual([
    true,
    false,
  ]);
});

test('what is no path is refused, and nothing is read through a circle of links', async () => {
  await using world = await pathWorld();
  await symlink('circle', join(world.workspace, 'circle'));
  for (const path of ['a\0b', ''])
    expect(await decide(world.guard(), path, 'read'), path).toMatchObject({ decision: 'deny' });
  for (const path of ['circle', 'circle/x']) {
    using place = await world.guard().openInside(path, 'read', OWNER);
    await expect(place.open()).rejects.toThrow('circle');
    expect(await decide(world.guard(), path, 'write'), path).toMatchObject({ decision: 'deny' });
  }
});

test('of a folder without an end no more than 10,000 names are taken', async () => {
  await using world = await pathWorld();
  play.endless = true;
  await listThrough(world.guard(), 'notes');
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
  using pinned = await pin(join(world.workspace, 'link'), { noFollow: true });
  expect([pinned.path, pinned.stat.isSymbolicLink()]).toEqual([join(world.workspace, 'link'), true]);
});

test('new bytes are not written into something that was put in their way', async () => {
  await using world = await pathWorld();
  vi.spyOn(systemRandom, 'bytes').mockImplementation((length) => new Uint8Array(length));
  const secret = join(world.root, 'outside', 'secret.txt');
  await symlink(secret, join(world.workspace, '.000000000000.tmp'));
  await expect(writeTo(world.guard(), 'a.txt', 'new')).rejects.toThrow('EEXIST');
  expect(await readFile(secret, 'utf8')).toBe('OUTSIDE');
});

describe('on a system without /proc', () => {
  let elsewhere: typeof pin;

  beforeAll(async () => {
    const platform = Object.getOwnPropertyDescriptor(process, 'platform') ?? {};
    Object.defineProperty(process, 'platform', { ...platform, value: 'darwin' });
    vi.resetModules();
    ({ pin: elsewhere } = await import('../../src/core/security/paths/pinned.ts'));
    Object.defineProperty(process, 'platform', platform);
  });

  /** The calls of an opening, with something that happens before a file is opened; `paths`: what was opened. */
  const playing = (beforeOpen = (_path: string): void => {}) => {
    const paths: string[] = [];
    const open = (path: string, flags: number): Promise<number> => {
      paths.push(path);
      beforeOpen(path);
      return CALLS.open(path, flags);
    };
    return { paths, calls: { ...CALLS, open } };
  };

  test('a file is opened by its real path', async () => {
    await using world = await pathWorld();
    await symlink('a.txt', join(world.workspace, 'link'));
    const { paths, calls } = playing();
    using pinned = await elsewhere(join(world.workspace, 'link'), { calls });
    expect([pinned.path, pinned.stat.size, paths]).toEqual([join(world.workspace, 'a.txt'), 6, [pinned.path]]);
  });

  test('what is neither a file nor a folder is named and not opened', async () => {
    await using world = await pathWorld();
    const [pipe, link] = [join(world.workspace, 'pipe'), join(world.workspace, 'link')];
    execFileSync('mkfifo', [pipe]);
    await symlink('a.txt', link);
    const { paths, calls } = playing();
    using first = await elsewhere(pipe, { calls });
    using second = await elsewhere(link, { noFollow: true, calls });
    expect([first.stat.isFIFO(), second.stat.isSymbolicLink(), paths]).toEqual([true, true, []]);
  });

  test.each([
    ['another file', (path: string) => writeFileSync(path, 'other'), 'changed while it was being opened'],
    ['a link', (path: string) => symlinkSync('notes', path), 'ELOOP'],
    ['a pipe, which is not waited for', (path: string) => execFileSync('mkfifo', [path]), 'changed while'],
  ])('%s that takes its place meanwhile is refused', async (_what, put, why) => {
    await using world = await pathWorld();
    const { calls } = playing((path) => {
      renameSync(path, `${path}-aside`);
      put(path);
    });
    await expect(elsewhere(join(world.workspace, 'a.txt'), { calls })).rejects.toThrow(why);
  });
});
