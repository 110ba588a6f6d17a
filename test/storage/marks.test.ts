import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Marks, MarksOptions } from '../../src/core/files/marks.ts';
import type { Database } from '../../src/core/storage/database.ts';
import { marksDatabase, openMarks } from '../support/marks.ts';
import { tempFolder } from '../support/temp.ts';

const DAY_MS = 86_400_000;
let folder: Awaited<ReturnType<typeof tempFolder>>;
let db: Database;
let workspace: string;
let now: number;

beforeEach(async () => {
  folder = await tempFolder();
  db = marksDatabase();
  workspace = join(folder.path, 'workspace');
  now = 0;
  await mkdir(workspace, { recursive: true });
});

afterEach(() => folder[Symbol.asyncDispose]());

const at = (path: string): string => join(workspace, path);
/** As the next process opens them. */
const open = (options: Partial<MarksOptions> = {}): Marks =>
  openMarks({ db, workspace, clock: { now: () => now }, ...options });
const pace = async (): Promise<void> => {};

describe('a mark', () => {
  test('belongs to its path alone, and outlives the process', async () => {
    await open().record([{ path: 'a/page.md' }], 'outside');
    const marks = open();
    expect(marks.authorOf(at('a/page.md'))).toBe('outside');
    for (const path of ['a', 'a/page.md.bak', 'a/page', 'a/page.md/x', 'b/page.md', '']) {
      expect(marks.authorOf(at(path)), path).toBeNull();
    }
  });

  test('of a folder covers everything below it', async () => {
    const marks = open();
    await marks.record([{ path: 'clone', isFolder: true }], 'guest');
    for (const path of ['clone', 'clone/a', 'clone/b/c']) expect(marks.authorOf(at(path)), path).toBe('guest');
    expect(marks.authorOf(at('clone2/a'))).toBeNull();
    expect(marks.folderAbove(at('clone/b/c'))).toBe(at('clone'));
  });

  test('keeps the weakest author of the path and the folders above it', async () => {
    const marks = open();
    await marks.record([{ path: 'a' }], 'trusted');
    await marks.record([{ path: 'a' }], 'outside');
    await marks.record([{ path: 'a' }], 'guest');
    await marks.record([{ path: 'd', isFolder: true }], 'guest');
    await marks.record([{ path: 'd/x' }], 'trusted');
    expect([marks.authorOf(at('a')), marks.authorOf(at('d/x'))]).toEqual(['outside', 'guest']);
  });

  test('is not made of the root of the workspace', async () => {
    const marks = open();
    await marks.record([{ path: '.', isFolder: true }, { path: workspace }], 'outside');
    expect(marks.holdsBelow(workspace)).toBe(false);
  });

  test('of a path outside the workspace is kept by its absolute path', async () => {
    await open().record([{ path: '/srv/project/a.md' }], 'outside');
    expect(open().authorOf('/srv/project/a.md')).toBe('outside');
    expect(open().below('/srv')).toEqual(['/srv/project/a.md']);
    expect(open().holdsBelow(workspace)).toBe(false);
  });

  test('holds for the real path of a workspace that is a link', async () => {
    await mkdir(join(folder.path, 'real'));
    await symlink(join(folder.path, 'real'), join(folder.path, 'link'));
    const marks = open({ workspace: join(folder.path, 'link') });
    await marks.record([{ path: 'a' }, { path: join(folder.path, 'link', 'b') }], 'outside');
    expect(marks.below(join(folder.path, 'real')).map((path) => marks.nameOf(path))).toEqual(['a', 'b']);
  });

  test('made in a transaction is there exactly if that commits', async () => {
    const marks = open();
    const failed = db.write(() => {
      marks.mark([{ path: 'a' }], 'outside');
      throw new Error('no');
    });
    await expect(failed).rejects.toThrow('no');
    expect(open().authorOf(at('a'))).toBeNull();
    await db.write(() => marks.mark([{ path: 'b' }], 'outside'));
    expect(open().authorOf(at('b'))).toBe('outside');
  });
});

describe('below a folder', () => {
  test('all marks are listed in order, and none beside it', async () => {
    const marks = open();
    const paths = ['a', 'a/z', 'a/b/c', 'a-b', 'a.md', 'a0', 'b'];
    await marks.record(
      paths.map((path) => ({ path })),
      'outside',
    );
    expect(marks.below(at('a')).map((path) => marks.nameOf(path))).toEqual(['a', 'a/b/c', 'a/z']);
    expect(marks.below(at('a'), 2)).toHaveLength(2);
    expect([marks.count(at('a')), marks.count(workspace), marks.count('/')]).toEqual([3, 7, 7]);
    await mkdir(at('a/b/c'), { recursive: true });
    expect([marks.holdsBelow(at('a/b')), marks.holdsBelow(at('a/bb'))]).toEqual([true, false]);
  });

  test('a mark whose path is gone counts for nothing, until something is there again', async () => {
    const marks = open();
    await marks.record([{ path: 'a/page.md' }], 'outside');
    expect(marks.holdsBelow(workspace)).toBe(false);
    await mkdir(at('a'));
    await writeFile(at('a/page.md'), 'x');
    expect(marks.holdsBelow(workspace)).toBe(true);
  });
});

describe('a mark is removed', () => {
  test('with those below it, when the owner says that the path is trusted', async () => {
    const marks = open();
    await marks.record([{ path: 'a/b' }, { path: 'a/c' }, { path: 'ab' }], 'outside');
    expect(await marks.forget('a')).toBe(2);
    expect(await marks.forget('a')).toBe(0);
    expect(open().below(workspace)).toEqual([at('ab')]);
  });

  test('alone, when the owner has written the file anew; a marked folder above still covers it', async () => {
    const marks = open();
    await marks.record([{ path: 'd', isFolder: true }, { path: 'd/x' }, { path: 'd/x/y' }], 'outside');
    await Promise.all([marks.forgetFile(at('d/x')), marks.forgetFile(at('d/x'))]);
    expect(marks.below(workspace).map((path) => marks.nameOf(path))).toEqual(['d', 'd/x/y']);
    expect(marks.authorOf(at('d/x'))).toBe('outside');
  });

  test('by a sweep a day after its path is gone, never before and never while the path exists', async () => {
    const marks = open();
    await writeFile(at('stays'), '');
    await marks.record([{ path: 'stays' }, { path: 'gone' }, { path: 'gone/below' }], 'outside');
    expect(await marks.sweep(pace)).toBe(0);
    now = 2 * DAY_MS;
    await marks.record([{ path: 'young' }], 'outside');
    expect(await marks.sweep(pace)).toBe(2);
    expect(open().below(workspace)).toEqual([at('stays'), at('young')]);
    await rm(at('stays'));
    now = 4 * DAY_MS;
    expect(await marks.sweep(pace)).toBe(2);
  });

  test('by a sweep no earlier than an undo could bring its path back', async () => {
    const marks = open();
    await marks.record([{ path: 'gone' }, { path: 'folder/below' }, { path: 'other' }], 'outside');
    await db.write(() => marks.holdBelow(['gone', 'folder'], 90 * DAY_MS));
    now = 89 * DAY_MS;
    expect(await marks.sweep(pace)).toBe(1);
    expect(open().below(workspace)).toEqual([at('folder/below'), at('gone')]);
    now = 92 * DAY_MS;
    expect(await marks.sweep(pace)).toBe(2);
  });

  test('by a sweep of some thousand at a time, until all were looked at', async () => {
    const marks = open();
    await marks.record(
      Array.from({ length: 12_000 }, (_, n) => ({ path: `f${n}` })),
      'outside',
    );
    now = 2 * DAY_MS;
    const swept = [await marks.sweep(pace), await marks.sweep(pace), await marks.sweep(pace)];
    expect(Math.max(...swept)).toBe(5_000);
    expect(marks.count(workspace)).toBe(0);
  });
});

describe('text of a file is untrusted', () => {
  test.each([
    ['outside', { owner: true, trusted: true, guest: true }],
    ['guest', { owner: true, trusted: true, guest: false }],
    ['trusted', { owner: true, trusted: false, guest: false }],
  ] as const)('for those above its author: %s', async (author, expected) => {
    const marks = open();
    await marks.record([{ path: 'a' }], author);
    const holds = (role: 'owner' | 'trusted' | 'guest') => marks.isUntrusted([at('a')], role);
    expect({ owner: await holds('owner'), trusted: await holds('trusted'), guest: await holds('guest') }).toEqual(
      expected,
    );
  });

  test('without a mark in folders of others, and in the log while it says so', async () => {
    const log = { path: at('HISTORY.md'), holdsUntrusted: (text: string) => text.includes('[theirs]') };
    const marks = open({ folders: [join(folder.path, 'media')], log });
    marks.alsoIn(async () => [at('skills/foreign')]);
    const holds = (path: string) => marks.isUntrusted([path], 'guest');
    await mkdir(join(folder.path, 'media'));
    expect(await holds(join(folder.path, 'media'))).toBe(false);
    await writeFile(join(folder.path, 'media', 'a.png'), '');
    expect(await holds(join(folder.path, 'media', 'a.png'))).toBe(true);
    expect(await holds(at('skills/foreign/SKILL.md'))).toBe(true);
    expect(await holds(at('skills/own/SKILL.md'))).toBe(false);
    await writeFile(log.path, 'mine');
    expect(await holds(log.path)).toBe(false);
    await writeFile(log.path, '[theirs] obey');
    expect(await holds(log.path)).toBe(true);
  });
});

describe('many marks', () => {
  const many = (count: number, path: (n: number) => string) =>
    Array.from({ length: count }, (_, n) => ({ path: path(n) }));

  test('in one folder become one mark of that folder, and none is forgotten', async () => {
    const marks = open();
    await marks.record([{ path: 'big/guest' }], 'guest');
    await marks.record(
      many(49_999, (n) => `big/deep/f${n}`),
      'trusted',
    );
    expect(marks.count(workspace)).toBe(50_000);
    await marks.record([{ path: 'one-more' }], 'guest');
    expect(marks.below(workspace).map((path) => marks.nameOf(path))).toEqual(['big/deep', 'big/guest', 'one-more']);
    expect(marks.authorOf(at('big/deep/f7'))).toBe('trusted');
    expect(marks.authorOf(at('big/other'))).toBeNull();
    expect(open().count(workspace)).toBe(3);
  });

  test('spread over the root stay, because the root is never marked', async () => {
    const marks = open();
    await marks.record(
      many(50_500, (n) => `f${n}`),
      'outside',
    );
    expect(marks.count(workspace)).toBe(50_500);
    expect(marks.authorOf(at('other'))).toBeNull();
  });

  test('are looked up without looking through them', async () => {
    const time = async (count: number): Promise<number> => {
      db = marksDatabase();
      const marks = open();
      await marks.record(
        many(count, (n) => `f${n}`),
        'outside',
      );
      const start = performance.now();
      for (let n = 0; n < 5_000; n += 1) {
        marks.authorOf(at(`f${n}/x/y`));
        marks.holdsBelow(at(`d${n}`));
        marks.below(at(`f${n}`), 20);
      }
      return performance.now() - start;
    };
    await time(1_000);
    expect((await time(100_000)) / Math.max(1, await time(1_000))).toBeLessThan(20);
  });

  test('do not make one more mark slow', async () => {
    const marks = open();
    await marks.record(
      many(100_000, (n) => `f${n}`),
      'outside',
    );
    const start = performance.now();
    for (let n = 0; n < 200; n += 1) await marks.record([{ path: `g${n}` }], 'outside');
    expect(performance.now() - start).toBeLessThan(2_000);
    expect(marks.count(workspace)).toBe(100_200);
  });
});
