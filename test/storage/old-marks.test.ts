import { createHash } from 'node:crypto';
import { mkdir, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { oldMarks } from '../../src/core/storage/old-marks.ts';
import { tempFolder } from '../support/temp.ts';

let folder: Awaited<ReturnType<typeof tempFolder>>;
let workspace: string;
beforeEach(async () => {
  folder = await tempFolder();
  workspace = join(folder.path, 'workspace');
  await mkdir(workspace);
});
afterEach(() => folder[Symbol.asyncDispose]());

async function put(path: string, text: string): Promise<number> {
  const whole = join(workspace, path);
  await mkdir(dirname(whole), { recursive: true });
  await writeFile(whole, text);
  return (await stat(whole)).ctimeMs;
}

/** What is found with these lines in the file of the old marks. */
async function found(lines: readonly object[], most?: { entries: number; bytes: number }) {
  const file = join(folder.path, 'untrusted.jsonl');
  await writeFile(file, lines.map((line) => `${JSON.stringify(line)}\n`).join('') + 'torn {');
  const marks = await oldMarks(file, { workspace, log: join(workspace, 'memory/HISTORY.md'), ...(most && { most }) });
  return marks?.map(({ path, isFolder }) => path + (isFolder === true ? '/' : '')).toSorted();
}

const hash = (text: string): object => ({
  v: 1,
  hash: createHash('sha256').update(text).digest('hex'),
  name: 'a',
});

test('a home without old marks has none to take over', async () => {
  await put('a', 'x');
  expect(await oldMarks(join(folder.path, 'untrusted.jsonl'), { workspace, log: '' })).toBeNull();
});

test('files are found by their content wherever they were moved to', async () => {
  await put('mine.md', 'mine');
  await put('deep/er/page.md', 'theirs');
  await put('empty', '');
  await symlink('deep/er/page.md', join(workspace, 'link'));
  expect(await found([hash('theirs'), hash('')])).toEqual(['deep/er/page.md']);
});

test('files are found by the time of their change, also in a time that never ended; not the log', async () => {
  const changed = await put('a/during', 'x');
  await put('memory/HISTORY.md', 'x');
  const span = [
    { v: 1, span: '1', from: changed - 10 },
    { v: 1, span: '1', to: changed + 10 },
  ];
  expect(await found(span)).toEqual(['a/during']);
  expect(await found(span.slice(0, 1))).toEqual(['a/during']);
  expect(await found([{ v: 1, span: '1', from: changed + 3_600_000 }])).toEqual([]);
});

test.each([
  { entries: 4, bytes: 1_000 },
  { entries: 1_000, bytes: 15 },
])('an entry of the workspace that there is no room to look through is listed whole: %j', async (most) => {
  for (const name of ['a/1', 'b/1', 'b/2', 'c.md']) await put(name, '123456');
  const paths = (await found([hash('theirs')], most)) ?? [];
  expect(paths).toContain('b/');
  expect(paths).toContain('c.md');
  expect(paths).not.toContain('a/');
});
