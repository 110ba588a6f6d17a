import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makesGitRun, readGitSettings } from '../../src/core/landing/git/settings.ts';
import { tempFolder } from '../support/temp.ts';

test.each([
  ['a name in capitals', '[CORE]\n\tFsMonitor = X\n'],
  ['a name without a value', '[core]\n\tbare\n'],
  ['a part of a name with quotes and backslashes', '[Filter "a\\"B\\\\c\\d"]\n\tclean = x\n'],
  ['a value with quotes, escapes and comments', '[a]\n\tb = " c;d " \\t e \\"f\\" # g\n\th = i ; j\n'],
  ['a value with spaces at its ends', '[a]\n\tb = "c " # d\n\te = \\t f\\t \n\tg = "" h " " \n'],
  ['an empty value', '[a]\n\tb =\n\tc = ""\n\td = # e\n'],
  ['a value of two lines', '[a]\n\tb = c \\\n d\n'],
  ['lines that end as on Windows', '[a]\r\n\tb = c\r\n'],
  ['settings on the line of their section', '[a] b = c\n[d "E"] f = g\n'],
])('%s is read as git reads it', async (_what, text) => {
  await using folder = await tempFolder();
  const file = join(folder.path, 'config');
  writeFileSync(file, text);
  const listed = execFileSync('git', ['config', '--file', file, '--list', '--null'], { encoding: 'utf8' });
  const read = readGitSettings(text)?.map(({ key, value }) => `${key}\n${value}`);
  // Git lists a name without a value without one; it means true.
  const theirs = listed.split('\0').filter(Boolean);
  expect(read).toEqual(theirs.map((one) => (one.includes('\n') ? one : `${one}\ntrue`)));
});

test.each([
  ['on', 'true', false],
  ['off', 'False', false],
  ['a program', 'less', true],
  ['a shell command', 'touch x', true],
])('the pager of one command that is %s makes git run something: only a program does', (_what, value, runs) => {
  expect(makesGitRun({ key: 'pager.log', value }, () => false)).toBe(runs);
});
