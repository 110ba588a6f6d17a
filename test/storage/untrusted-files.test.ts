import { mkdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { plainDisk, type Disk } from '../../src/core/storage/disk.ts';
import { walksInto, namesPath } from '../../src/core/storage/named-paths.ts';
import { UntrustedFiles } from '../../src/core/storage/untrusted-files.ts';
import { tempFolder } from '../support/temp.ts';

interface Place extends AsyncDisposable {
  readonly folder: string;
  readonly path: string;
  now: number;
  open(): UntrustedFiles;
}

async function place(): Promise<Place> {
  const { path: folder, [Symbol.asyncDispose]: dispose } = await tempFolder();
  const path = join(folder, 'marks', 'untrusted.jsonl');
  const made: Place = {
    folder,
    path,
    now: 1_000_000,
    open: () => new UntrustedFiles({ path, folders: [join(folder, 'media')], clock: { now: () => made.now } }),
    [Symbol.asyncDispose]: dispose,
  };
  return made;
}

const bytes = (text: string): Buffer => Buffer.from(text);
const file = (text: string, { path = '/w/x.md', ctimeMs = 0 } = {}): Parameters<UntrustedFiles['holds']>[0] => ({
  path,
  bytes: bytes(text),
  stat: { ctimeMs },
});

describe('what strangers had a part in', () => {
  test('is known by its content under any name, also by a later process', async () => {
    await using at = await place();
    const files = at.open();
    await files.mark('/w/page.md', bytes('evil page'));
    expect(await files.holds(file('evil page'))).toBe(true);
    expect(await files.holds(file('evil page!'))).toBe(false);
    expect(await at.open().holds(file('evil page', { path: '/w/renamed.md' }))).toBe(true);
  });

  test('is found in a folder below the one that is looked through', async () => {
    await using at = await place();
    const files = at.open();
    const below = join(at.folder, 'work', 'inner', 'deep');
    await mkdir(below, { recursive: true });
    await writeFile(join(below, 'page.md'), 'evil page');
    expect(await files.holdsUnder(join(at.folder, 'work'))).toBe(false);
    await files.mark(join(below, 'page.md'), bytes('evil page'));
    expect(await files.holdsUnder(join(at.folder, 'work'))).toBe(true);
  });

  test('is not known when the disk does not take the mark, and the file does not stay open', async () => {
    await using at = await place();
    let open = 0;
    const full: Disk = {
      ...plainDisk,
      open: async (path) => {
        const handle = await plainDisk.open(path);
        open += 1;
        return {
          ...handle,
          write: () => Promise.reject(new Error('the disk is full')),
          close: async () => {
            open -= 1;
            await handle.close();
          },
        };
      },
    };
    const files = new UntrustedFiles({ path: at.path, folders: [], clock: { now: () => at.now }, disk: full });
    await expect(files.mark('/w/page.md', bytes('evil page'))).rejects.toThrow('the disk is full');
    expect(await files.holds(file('evil page'))).toBe(false);
    expect(open).toBe(0);
  });

  test('is known by the folder it lies in, whether or not the folder was there at first', async () => {
    await using at = await place();
    const files = at.open();
    const media = join(at.folder, 'media');
    expect(await files.holds(file('x', { path: join(media, 'a.pdf') }))).toBe(true);
    await mkdir(media);
    expect(await files.holds(file('x', { path: join(media, 'a.pdf') }))).toBe(true);
    expect(await files.holds(file('x', { path: join(at.folder, 'mediation', 'a') }))).toBe(false);
    expect([await files.holdsFolder(media), await files.holdsFolder(at.folder)]).toEqual([true, false]);
  });

  test('empty files say nothing', async () => {
    await using at = await place();
    const files = at.open();
    await files.mark('/w/empty', bytes(' \n'));
    expect(await files.holds(file(' \n'))).toBe(false);
  });

  test('is known by its name to a command and to a listing', async () => {
    await using at = await place();
    const files = at.open();
    await files.mark('/w/notes/page.md', bytes('evil page'));
    for (const command of ['cat page.md', 'cat<notes/page.md', 'grep x "page.md"|wc', `ls ${at.folder}/media/a`]) {
      expect(await files.isNamedIn(command)).toBe(true);
    }
    for (const command of ['cat webpage.md', 'ls', 'cat other.md']) expect(await files.isNamedIn(command)).toBe(false);
    expect(await files.knowsName(['a', 'page.md'])).toBe(true);
    expect(await files.knowsName(['a', 'PAGE'])).toBe(false);
  });
});

describe('a command that runs in a folder', () => {
  test.each([
    ['ls media', '.'],
    ['cd media && ls', '.'],
    ['cat ./media', '.'],
    ['ls', 'media'],
    ['cat *', 'media/deep'],
    ['ls ../media', 'other'],
    ['ls -R inner', '.'],
  ])('%s in %s is about what strangers wrote', async (command, cwd) => {
    await using at = await place();
    const theirs = [join(at.folder, 'media'), join(at.folder, 'inner', 'theirs')];
    expect(namesPath(command, join(at.folder, cwd), theirs)).toBe(true);
  });

  test.each([
    ['ls', '.'],
    ['ls .', '.'],
    ['ls mediation', '.'],
    ['ls media', 'other'],
    ['echo / ..', '.'],
  ])('%s in %s is not', async (command, cwd) => {
    await using at = await place();
    expect(namesPath(command, join(at.folder, cwd), [join(at.folder, 'media')])).toBe(false);
  });

  test.each([
    ['find .', '.'],
    ['cd / && ls; grep -rn TODO', '.'],
    ['grep --recursive x .', '.'],
    ['git grep x', '.'],
    ['rg x ..', 'other'],
    ['ls -lR', '.'],
    ['cat */*.md', '.'],
    ['head ../*/a', 'other'],
    ['tar cf - . | base64', '.'],
  ])('%s in %s comes by what strangers wrote, and no longer when that is gone', async (command, cwd) => {
    await using at = await place();
    const files = at.open();
    await mkdir(join(at.folder, 'media'), { recursive: true });
    await writeFile(join(at.folder, 'media', 'a'), 'a');
    expect(await files.isNamedIn(command, join(at.folder, cwd))).toBe(true);
    await rm(join(at.folder, 'media', 'a'));
    expect(await files.isNamedIn(command, join(at.folder, cwd))).toBe(false);
  });

  test.each([
    ['find . -name x', 'other'],
    ['grep -n x notes.md', '.'],
    ['cat *.md', '.'],
    ['ls -la', '.'],
    ['git status --renames', '.'],
    ['npm run test -r', '.'],
  ])('%s in %s does not', async (command, cwd) => {
    await using at = await place();
    expect(walksInto(command, join(at.folder, cwd), [join(at.folder, 'media')])).toBe(false);
  });

  test('may read a log that says which of its parts are theirs', async () => {
    await using at = await place();
    const log = {
      path: join(at.folder, 'memory', 'log.md'),
      holdsUntrusted: (text: string) => text.includes('theirs'),
    };
    const files = new UntrustedFiles({ path: at.path, folders: [], log, clock: { now: () => 0 } });
    await mkdir(join(at.folder, 'memory'));
    await writeFile(log.path, 'mine');
    const read = (text: string): Promise<boolean> => files.holds(file(text, { path: log.path }));
    expect([await read('mine'), await read('theirs')]).toEqual([false, true]);
    expect(await files.isNamedIn('cat memory/*', at.folder)).toBe(false);
    await writeFile(log.path, 'theirs');
    for (const command of ['cat memory/*', 'grep -r x memory', 'cat memory/log.md'])
      expect(await files.isNamedIn(command, at.folder)).toBe(true);
    expect(await files.isNamedIn('ls', at.folder)).toBe(false);
  });
});

describe('what changes while a command runs', () => {
  test('counts as strangers’ for that time and no other', async () => {
    await using at = await place();
    const files = at.open();
    const done = await files.during(async () => {
      at.now = 1_005_000;
      expect(await files.holds(file('x', { ctimeMs: 1_999_999 }))).toBe(true);
      return 'done';
    });
    expect(done).toBe('done');
    for (const known of [files, at.open()]) {
      expect(await known.holds(file('x', { ctimeMs: 999_000 }))).toBe(false);
      expect(await known.holds(file('x', { ctimeMs: 1_000_000 }))).toBe(true);
      expect(await known.holds(file('x', { ctimeMs: 1_005_000 }))).toBe(true);
      expect(await known.holds(file('x', { ctimeMs: 1_006_000 }))).toBe(false);
    }
  });

  test('ends with a command that fails, and with a process that dies at the latest when the next one looks', async () => {
    await using at = await place();
    const files = at.open();
    await expect(files.during(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
    at.now = 2_000_000;
    void files.during(() => new Promise(() => {}));
    await expect.poll(() => readFile(at.path, 'utf8')).toContain('2000000');
    at.now = 2_010_000;
    const next = at.open();
    expect(await next.holds(file('x', { ctimeMs: 1_500_000 }))).toBe(false);
    expect(await next.holds(file('x', { ctimeMs: 2_005_000 }))).toBe(true);
    expect(await next.holds(file('x', { ctimeMs: 2_020_000 }))).toBe(false);
  });

  test('is judged by the time that the file system stamps', async () => {
    await using at = await place();
    const files = new UntrustedFiles({ path: at.path, folders: [], clock: { now: () => Date.now() } });
    const written = join(at.folder, 'cloned.md');
    await files.during(() => writeFile(written, 'from a stranger'));
    const read = { path: written, bytes: bytes('from a stranger'), stat: await stat(written) };
    expect(await files.holds(read)).toBe(true);
  });
});

describe('the file of marks', () => {
  test('a damaged line costs that line', async () => {
    await using at = await place();
    const files = at.open();
    await files.mark('a', bytes('one'));
    await files.mark('b', bytes('two'));
    await truncate(at.path, (await readFile(at.path)).length - 5);
    const again = at.open();
    expect([await again.holds(file('one')), await again.holds(file('two'))]).toEqual([true, false]);
    await again.mark('c', bytes('three'));
    expect(await at.open().holds(file('three'))).toBe(true);
  });

  test('forgets the oldest beyond 20,000 and is written anew when it has grown', async () => {
    await using at = await place();
    await mkdir(join(at.folder, 'marks'));
    const lines = Array.from({ length: 45_000 }, (_, n) => JSON.stringify({ v: 1, hash: `h${n}`, name: `n${n}` }));
    await writeFile(at.path, `${lines.join('\n')}\n`);
    const files = at.open();
    expect(await files.knowsName(['n24999'])).toBe(false);
    expect(await files.knowsName(['n25000'])).toBe(true);
    expect((await readFile(at.path, 'utf8')).split('\n')).toHaveLength(20_001);
    await files.mark('new', bytes('new'));
    expect([await files.knowsName(['n25000']), await files.knowsName(['new'])]).toEqual([false, true]);
  });

  test('keeps the times of commands when it is written anew', async () => {
    await using at = await place();
    await mkdir(join(at.folder, 'marks'));
    const marks = Array.from({ length: 45_000 }, (_, n) => JSON.stringify({ v: 1, hash: `h${n}`, name: `n${n}` }));
    const span = [
      { v: 1, span: 's', from: 1_000 },
      { v: 1, span: 's', to: 2_000 },
    ].map((line) => JSON.stringify(line));
    await writeFile(at.path, `${[...span, ...marks].join('\n')}\n`);
    await at.open().knowsName(['n1']);
    expect((await readFile(at.path, 'utf8')).split('\n').slice(-3)).toEqual([...span, '']);
  });
});
