import { execFileSync } from 'node:child_process';
import { truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { filePeek } from '../../src/core/security/paths/file-peek.ts';
import { namedFiles } from '../../src/core/security/commands/named-files.ts';
import { tempFolder } from '../support/temp.ts';

test('a file that is too large to be read has another look when it changed', async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, 'large');
  await writeFile(path, 'x');
  await truncate(path, 16 * 1024 * 1024 + 1);
  const before = await filePeek.look(path);
  await utimes(path, new Date(1_000), new Date(1_000));
  const after = await filePeek.look(path);
  expect(before).toMatch(/^large /u);
  expect(after).not.toBe(before);
});

test('a pipe and a device are no files, and nobody waits for them', async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, 'pipe');
  execFileSync('mkfifo', [path]);
  expect(await filePeek.look(path)).toBeNull();
  expect(await filePeek.look('/dev/zero')).toBeNull();
});

test('folders that a command changes to are looked into, as far as eight of them', async () => {
  await using folder = await tempFolder();
  const looked: string[] = [];
  const peek = {
    names: async () => Array.from({ length: 20 }, (_, n) => `d${n}`),
    look: async (path: string) => {
      looked.push(path);
      return /\/d\d+$/u.test(path) ? 'folder' : null;
    },
  };
  const command = Array.from({ length: 20 }, (_, n) => `cd d${n}`).join('; ');
  await namedFiles(command, { folder: folder.path, workspace: folder.path }, peek);
  expect(looked.length).toBeGreaterThan(20);
  expect(looked.length).toBeLessThan(20 * 10);
});

test('a name that the shell puts together from quoted pieces is found, also behind a sign', async () => {
  const peek = { names: async () => ['rules.sh'], look: async () => 'x' };
  const found = await namedFiles(`bash --rcfile=ru"les".sh`, { folder: '/w', workspace: '/w' }, peek);
  expect(found).toEqual({ '/w/rules.sh': 'x' });
});

test('of 100,000 words only those are looked at that the folder has', async () => {
  const looked: string[] = [];
  const peek = {
    names: async () => ['run.sh', 'Src'],
    look: async (path: string) => {
      looked.push(path);
      return 'x';
    },
  };
  const many = Array.from({ length: 100_000 }, (_, n) => `w${n}`).join(' ');
  await namedFiles(`${many} ./a run.sh src/x /w/b ../w/c`, { folder: '/w', workspace: '/w' }, peek);
  expect(new Set(looked)).toEqual(new Set(['/w/a', '/w/run.sh', '/w/src/x', '/w/b', '/w/c']));
});
