import { describe, expect, test } from 'vitest';
import { exactWords, runsOthers } from '../../src/security/commands/exact.ts';

describe('a command that is only a program and its arguments', () => {
  test.each([
    ['/usr/bin/gh pr list', ['/usr/bin/gh', 'pr', 'list']],
    ['uptime', ['uptime']],
    ["git commit -m 'a b; c'", ['git', 'commit', '-m', 'a b; c']],
    ['git  log  --format="%h %s"', ['git', 'log', '--format=%h %s']],
    [`ls 'a'"b"c ''`, ['ls', 'abc', '']],
    ['ls ', ['ls']],
  ])('%j is the words %j', (command, words) => {
    expect(exactWords(command)).toEqual(words);
  });

  test.each([
    'a; b',
    'a && b',
    'a | b',
    'a & b',
    'a > file',
    'a < file',
    'a $HOME',
    'a "$HOME"',
    'a `b`',
    'a "$(b)"',
    'a *.txt',
    'a [ab]',
    'a {b,c}',
    'a ~/b',
    'a b\\ c',
    'a "b\\c"',
    'a "!!"',
    'a\nb',
    'a\tb',
    'a #b',
    'A=b c',
    'a (b)',
    'a\u200bb',
    'a é',
    "a 'b",
    '',
    ' a',
  ])('%j is not', (command) => {
    expect(exactWords(command)).toBeNull();
  });
});

test.each(
  'sh bash dash zsh fish env xargs sudo nohup timeout nice watch ssh busybox python python3 python3.12 node node22 perl perl5.36.0 ruby php8.2 lua5.4 awk gawk npx npm uvx make docker podman find sed vim gdb tclsh8.6 Rscript crontab'.split(
    ' ',
  ),
)('%s runs what it is given, so it is never allowed for good', (name) => {
  expect(runsOthers(name, ['x'])).toBe(true);
});

test.each(['git', 'gh', 'ls', 'mkdir', 'curl', 'uptime', 'tar', 'convert', 'ffmpeg', 'sha256sum', 'date'])(
  '%s may be',
  (name) => {
    expect(runsOthers(name, ['x'])).toBe(false);
  },
);
