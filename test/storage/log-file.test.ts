import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { LogFile } from '../../src/core/storage/log-file.ts';
import { openLog } from '../../src/core/util/log.ts';
import { namesIn } from '../../src/core/storage/files.ts';
import { tempFolder } from '../support/temp.ts';

test('a log makes room for itself: the newest lines are in the file, those before in four older ones', async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, 'logs/a.log');
  const log = new LogFile(path, { largest: 40 });
  for (let n = 0; n < 30; n += 1) log.write(`a line, the number ${n}\n`);
  const names = ['a.log', 'a.log.1', 'a.log.2', 'a.log.3', 'a.log.4'];
  expect((await namesIn(join(folder.path, 'logs'))).toSorted()).toEqual(names);
  expect(names.map((name) => readFileSync(join(folder.path, 'logs', name), 'utf8'))).toEqual(
    [29, 28, 27, 26, 25].map((n) => `a line, the number ${n}\n`),
  );
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test('what an earlier process wrote counts', async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, 'a.log');
  writeFileSync(path, 'x'.repeat(39));
  new LogFile(path, { largest: 40 }).write('new\n');
  expect(readFileSync(path, 'utf8')).toBe('new\n');
});

test('a disk that takes no lines stops nothing', async () => {
  await using folder = await tempFolder();
  writeFileSync(join(folder.path, 'file'), '');
  new LogFile(join(folder.path, 'file/a.log')).write('lost\n');
});

test('the log of a process is JSON lines there, with the level in words and the time as one reads it', async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, 'a.log');
  const log = await openLog(
    { level: 'info', format: 'pretty' },
    {
      stderr: false,
      file: new LogFile(path),
    },
  );
  log.debug('not this');
  log.with({ channel: 'x' }).warn('x: trouble', { count: 2 });
  const line: unknown = JSON.parse(readFileSync(path, 'utf8'));
  expect(line).toMatchObject({ level: 'warn', msg: 'x: trouble', channel: 'x', count: 2 });
  expect(line).toHaveProperty('time', expect.stringMatching(/^20\d\d-\d\d-\d\dT/u));
});
