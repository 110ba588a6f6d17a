import { appendFileSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { LogFile } from '../../src/core/storage/log-file.ts';
import { followLog, readLog } from '../../src/core/storage/log-reader.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';

const everything = { most: Infinity, wanted: (line: string) => line, tooOld: () => false };

test('the last lines are read across the older files, oldest first, up to the first that is too old', async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, 'a.log');
  const log = new LogFile(path, { largest: 20 });
  for (let n = 10; n < 20; n += 1) log.write(`line ${n}\n`);
  expect((await readLog(path, everything))?.lines).toEqual([10, 11, 12, 13, 14, 15, 16, 17, 18, 19].map(lineOf));
  expect((await readLog(path, { ...everything, most: 3 }))?.lines).toEqual([17, 18, 19].map(lineOf));
  const odd = (line: string): string | null => (/[13579]$/u.test(line) ? line : null);
  expect((await readLog(path, { ...everything, most: 2, wanted: odd }))?.lines).toEqual([17, 19].map(lineOf));
  const tooOld = (line: string): boolean => line === 'line 16';
  expect((await readLog(path, { ...everything, tooOld }))?.lines).toEqual([17, 18, 19].map(lineOf));
});

test('of a log that is not there nothing is read, and its first lines are followed', async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, 'logs/a.log');
  expect(await readLog(path, everything)).toBeNull();
  await using followed = follow(path, null);
  new LogFile(path).write('first\n');
  await waitFor(() => followed.lines.length === 1);
  expect(followed.lines).toEqual(['first']);
});

test('a followed log gives each line once, though its file gets another name several times between two looks', async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, 'a.log');
  const log = new LogFile(path, { largest: 200 });
  log.write('line 0\n');
  const found = await readLog(path, everything);
  await using followed = follow(path, found?.end ?? null);
  const written: string[] = [];
  for (let burst = 0; burst < 8; burst += 1) {
    // Three or four files of 200 bytes at once.
    for (let n = 0; n < 60; n += 1) {
      const line = `line ${burst}.${n}`;
      written.push(line);
      log.write(`${line}\n`);
    }
    await waitFor(() => followed.lines.length === written.length);
  }
  expect(followed.lines).toEqual(written);
});

test('a line that is still being written is shown once it is whole', async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, 'a.log');
  appendFileSync(path, 'whole\nhal');
  const found = await readLog(path, everything);
  expect(found?.lines).toEqual(['whole']);
  await using followed = follow(path, found?.end ?? null);
  appendFileSync(path, 'f\nnext\n');
  await waitFor(() => followed.lines.length === 2);
  expect(followed.lines).toEqual(['half', 'next']);
});

test('a followed file that is cut to nothing is read from its beginning', async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, 'a.log');
  appendFileSync(path, 'a line of before\n');
  await using followed = follow(path, (await readLog(path, everything))?.end ?? null);
  truncateSync(path, 0);
  appendFileSync(path, 'new\n');
  await waitFor(() => followed.lines.length === 1);
  expect(followed.lines).toEqual(['new']);
});

function lineOf(n: number): string {
  return `line ${n}`;
}

function follow(path: string, from: Parameters<typeof followLog>[1]['from']) {
  const lines: string[] = [];
  const ended = new AbortController();
  const done = (async () => {
    for await (const line of followLog(path, { from, clock: systemClock, signal: ended.signal })) lines.push(line);
  })();
  return {
    lines,
    [Symbol.asyncDispose]: async () => {
      ended.abort();
      await done;
    },
  };
}
