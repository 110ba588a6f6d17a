import { describe, expect, test } from 'vitest';
import { exactWords } from '../../src/core/security/commands/plain.ts';
import { runsOthers } from '../../src/core/security/commands/wrappers.ts';
import { readSubject } from '../../src/extensions/exec/always-allow.ts';

describe('a command that is only a program and its arguments', () => {
  test.each([
    ['/usr/bin/gh pr list', ['/usr/bin/gh', 'pr', 'list']],
    ['uptime', ['uptime']],
    ["git commit -m 'a b; c'", ['git', 'commit', '-m', 'a b; c']],
    ['git  log  --format="%h %s"', ['git', 'log', '--format=%h %s']],
    [`ls 'a'"b"c ''`, ['ls', 'abc', '']],
    ['ls ', ['ls']],
    ['ls a\\ b', ['ls', 'a b']],
    ['ls é', ['ls', 'é']],
    ['ls #b', ['ls']],
  ])('%j is the words %j', (command, words) => {
    expect(exactWords(command)).toEqual(words);
  });

  test.each([
    'a; b',
    '! a',
    'time a',
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
    'a\nb',
    'A=b c',
    'a (b)',
    "a 'b",
    '',
  ])('%j is not', (command) => {
    expect(exactWords(command)).toBeNull();
  });
});

test.each(
  'sh bash dash zsh fish env xargs sudo nohup timeout nice watch ssh busybox python python3 python3.12 node node22 perl perl5.36.0 ruby php8.2 lua5.4 awk gawk npx npm uvx make docker podman find sed vim gdb tclsh8.6 Rscript crontab'.split(
    ' ',
  ),
)('%s runs what it is given, so it is never allowed for good', (name) => {
  expect(runsOthers(name)).toBe(true);
  expect(readSubject(name, ['x'])).toBeNull();
});

test.each([
  'eslint .',
  'vite build',
  'webpack',
  'rollup -c',
  'make',
  'npm run lint',
  'pre-commit run',
  'rspec',
  'gulp',
  'flask run',
  'uvicorn x',
  'mkdocs build',
  'pdflatex x.tex',
  'tar -xf x.tar --to-command=sh',
  'sort --compress-program=./x big',
  'rg --pre ./x word',
  'fd -x ./x',
  'pandoc --filter ./x a.md',
  'gh extension exec x',
  'nix-shell',
  'cabal run',
  'dpkg -i x.deb',
  'sbcl --script x',
  'git commit -m wip',
  'git -c core.pager=./x log',
  'git --exec-path=. status',
  'git log --ext-diff',
  'git diff --textconv',
  'git diff --output=x',
  'git log --format=%G?',
  'git push',
  'curl https://x.example',
  'uniq a b',
  'xxd -r a b',
  'date --set=tomorrow',
  'hostname other',
  'tree -o x',
  'file -C -m x',
  'diff --paginate a b',
])('%s may do more than read and print, so no chat allows it for good', (line) => {
  const [name = '', ...args] = line.split(' ');
  expect(readSubject(name, args)).toBeNull();
});

test.each([
  ['ls -la', 'files'],
  ['cat notes.md', 'files'],
  ['grep -rn word .', 'files'],
  ['git status', 'files'],
  ['git log --oneline -5', 'files'],
  ['date +%F', 'machine'],
  ['df -h', 'machine'],
  ['uptime', 'machine'],
] as const)('%s only reads and prints: it looks at %s', (line, subject) => {
  const [name = '', ...args] = line.split(' ');
  expect(readSubject(name, args)).toBe(subject);
});

test.each(['git', 'gh', 'ls', 'mkdir', 'curl', 'uptime', 'tar', 'convert', 'ffmpeg', 'sha256sum', 'date'])(
  '%s does not run what it is given',
  (name) => {
    expect(runsOthers(name)).toBe(false);
  },
);
