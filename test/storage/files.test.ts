import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  ensureDirectory,
  quarantine,
  readIfExists,
  replaceDurable,
  truncateDurable,
} from '../../src/core/storage/files.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'files-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe('replacing a file', () => {
  test('leaves the new content, private, and nothing beside it', async () => {
    const path = join(folder, 'note');
    await replaceDurable(path, 'old');
    await replaceDurable(path, Buffer.from('new'));
    expect(await readIfExists(path)).toBe('new');
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    await replaceDurable(path, 'open', { mode: 0o644 });
    expect((await stat(path)).mode & 0o777).toBe(0o644);
    expect(await readdir(folder)).toEqual(['note']);
  });

  test('keeps the old content and removes its temporary file when it fails', async () => {
    const path = join(folder, 'taken');
    await mkdir(path);
    await writeFile(join(path, 'inside'), '');
    await expect(replaceDurable(path, 'data')).rejects.toThrow();
    expect(await readdir(folder)).toEqual(['taken']);
  });

  test('steps around a temporary file that a dead process left behind', async () => {
    const path = join(folder, 'note');
    for (let n = 0; n < 20; n += 1) await writeFile(join(folder, `.note.${process.pid}.${n}.tmp`), '');
    await replaceDurable(path, 'new');
    expect(await readIfExists(path)).toBe('new');
  });

  test('loses nothing when the disk takes only a part', async () => {
    const path = join(folder, 'note');
    await replaceDurable(path, 'old');
    const module = new URL('../../src/core/storage/files.ts', import.meta.url).href;
    const script = `import(${JSON.stringify(module)}).then((files) =>
      files.replaceDurable(${JSON.stringify(path)}, 'x'.repeat(100_000))).then(
        () => console.log('replaced'), (error) => console.log(error.code))`;
    // A limit on the file size imitates a full disk: a short write, then an error.
    const { stdout } = await promisify(execFile)('sh', [
      '-c',
      'trap "" XFSZ; ulimit -f 8; exec "$0" -e "$1"',
      process.execPath,
      script,
    ]);
    expect(stdout.trim()).toBe('EFBIG');
    expect(await readIfExists(path)).toBe('old');
    expect(await readdir(folder)).toEqual(['note']);
  });
});

describe('the quarantine', () => {
  test('never overwrites, and keeps the same bytes once', async () => {
    const place = join(folder, 'deep', 'quarantine');
    const first = await quarantine(place, 'tape', Buffer.from('one'));
    const again = await quarantine(place, 'tape', Buffer.from('one'));
    const other = await quarantine(place, 'tape', Buffer.from('two'));
    expect(again).toBe(first);
    expect(await readFile(first, 'utf8')).toBe('one');
    expect(await readFile(other, 'utf8')).toBe('two');
    expect((await stat(place)).mode & 0o777).toBe(0o700);
  });
});

test('folders are made private and existing ones left alone', async () => {
  await ensureDirectory(join(folder, 'a', 'b'));
  expect((await stat(join(folder, 'a'))).mode & 0o777).toBe(0o700);
  await ensureDirectory(join(folder, 'a', 'b'));
});

test('a missing file reads as undefined, anything else unreadable as an error', async () => {
  expect(await readIfExists(join(folder, 'none'))).toBeUndefined();
  await expect(readIfExists(folder)).rejects.toThrow('EISDIR');
});

test('a file is cut to a size', async () => {
  const path = join(folder, 'cut');
  await writeFile(path, 'keep this');
  await truncateDurable(path, 4);
  expect(await readIfExists(path)).toBe('keep');
});
