import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { LineHistory } from '../../src/core/storage/line-history.ts';
import { tempFolder } from '../support/temp.ts';

const OPEN = { isPrivate: (text: string): boolean => text.includes('secret') };

test('the newest thousand are kept; a file of more than two thousand is cut', async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, 'history.jsonl');
  writeFileSync(path, Array.from({ length: 2_001 }, (_, n) => `"${n}"\n`).join(''));
  await using history = await LineHistory.open(path, OPEN);
  expect([history.entries.length, history.entries[0], history.entries.at(-1)]).toEqual([1_000, '1001', '2000']);
  expect(readFileSync(path, 'utf8').split('\n')).toHaveLength(1_001);
});

test('damaged lines, repetitions, secrets, long texts and what begins with a space are left out', async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, 'history.jsonl');
  writeFileSync(path, '"a"\n{"b":1}\n"torn');
  await using history = await LineHistory.open(path, OPEN);
  for (const text of ['a', 'b', 'b', 'my secret', ' c', '', 'x'.repeat(10_001), 'd\ne']) history.add(text);
  expect(history.entries).toEqual(['a', 'b', 'd\ne']);
  await history[Symbol.asyncDispose]();
  await using again = await LineHistory.open(path, OPEN);
  expect(again.entries).toEqual(['a', 'b', 'd\ne']);
});
