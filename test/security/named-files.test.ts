import { execFileSync } from 'node:child_process';
import { mkdir, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readWords } from '../../src/core/security/commands/words.ts';
import { namedFiles } from '../../src/extensions/exec/always-allow.ts';
import { tempFolder } from '../support/temp.ts';

const namedIn = (path: string, command: string): ReturnType<typeof namedFiles> =>
  namedFiles(command, readWords(command, { folder: path }), { folder: path, workspace: path });

test('a file that is too large to be read has another look when it changed', async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, 'large');
  await writeFile(path, 'x');
  await truncate(path, 16 * 1024 * 1024 + 1);
  const before = await namedIn(folder.path, 'sh large');
  await utimes(path, new Date(1_000), new Date(1_000));
  expect(before[path]).toMatch(/^large /u);
  expect((await namedIn(folder.path, 'sh large'))[path]).not.toBe(before[path]);
});

test('a pipe is no file, and nobody waits for it', async () => {
  await using folder = await tempFolder();
  execFileSync('mkfifo', [join(folder.path, 'pipe')]);
  expect(await namedIn(folder.path, 'cat pipe')).toEqual({});
});

test('folders that a command changes to are looked into, as far as eight of them', async () => {
  await using folder = await tempFolder();
  const names = Array.from({ length: 20 }, (_, n) => `d${n}`);
  for (const name of names) {
    await mkdir(join(folder.path, name));
    await writeFile(join(folder.path, name, 'run.sh'), 'x');
  }
  const found = await namedIn(folder.path, `${names.map((name) => `cd ${name}`).join('; ')}; ./run.sh`);
  expect(Object.keys(found)).toHaveLength(7);
});

test('a name that the shell puts together from quoted pieces is found, also behind a sign and whatever its case', async () => {
  await using folder = await tempFolder();
  await writeFile(join(folder.path, 'rules.sh'), 'x');
  expect(Object.keys(await namedIn(folder.path, `bash --rcfile=ru"les".sh`))).toEqual([join(folder.path, 'rules.sh')]);
});

test('a file of the home inside a word is the one that the sandbox has there', async () => {
  await using folder = await tempFolder();
  await writeFile(join(folder.path, 'run.py'), 'x');
  const command = 'python3 --x=$HOME/run.py';
  const words = readWords(command, { folder: folder.path, home: '/home/somebody' });
  const found = await namedFiles(command, words, { folder: folder.path, workspace: folder.path });
  expect(Object.keys(found)).toEqual([join(folder.path, 'run.py')]);
});

test('100,000 words are looked for in a moment', async () => {
  await using folder = await tempFolder();
  await writeFile(join(folder.path, 'run.sh'), 'x');
  const many = Array.from({ length: 100_000 }, (_, n) => `w${n}`).join(' ');
  expect(Object.keys(await namedIn(folder.path, `${many} ./run.sh ../w/c`))).toEqual([join(folder.path, 'run.sh')]);
});
