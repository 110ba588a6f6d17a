import { expect, test } from 'vitest';
import { commaArguments } from '../../src/core/agent/commands/comma.ts';

const exec = { names: ['command', 'cwd', 'timeoutSeconds'], first: 'command' };

test.each([
  ['', {}],
  ['{"command": "date"}', { command: 'date' }],
  ['command=date', { command: 'date' }],
  ['command="ls -la" cwd=sub', { command: 'ls -la', cwd: 'sub' }],
  ['command=ls -la cwd=sub', { command: 'ls -la', cwd: 'sub' }],
  ['cwd=\'a b\' command=echo "x" y', { cwd: 'a b', command: 'echo "x" y' }],
  ['ls -la', { command: 'ls -la' }],
  ['FOO=1 env', { command: 'FOO=1 env' }],
  ['command="a" and "b"', { command: '"a" and "b"' }],
  ['command=first line\nsecond line', { command: 'first line\nsecond line' }],
  ['command=x=1', { command: 'x=1' }],
  ['command=', { command: '' }],
  ['cmd="ls -la"', { cmd: 'ls -la' }],
  ['cmd=“ls -la” cwd=‘a b’', { cmd: 'ls -la', cwd: 'a b' }],
  ['cmd=”ls -la”', { cmd: 'ls -la' }],
  ['command=“a” and “b”', { command: '“a” and “b”' }],
  ['command=‘a’ and ‘b’', { command: '‘a’ and ‘b’' }],
  [String.raw`command="say \"hi\" \n"`, { command: String.raw`say "hi" \n` }],
  [String.raw`command="a\" and "b"`, { command: String.raw`"a\" and "b"` }],
  [String.raw`command='it\'s'`, { command: "it's" }],
  ['command=x timeout_seconds=5 workdir=y', { command: 'x', timeout_seconds: '5 workdir=y' }],
  ['script=date workdir=sub', { command: 'script=date workdir=sub' }],
  ['NODE_ENV=test cmd=x', { command: 'NODE_ENV=test cmd=x' }],
])('the arguments %j of a comma command become %j', (text, expected) => {
  expect(JSON.parse(commaArguments(text, exec))).toEqual(expected);
});

test('a tool without required parameters is told what was written', () => {
  expect(JSON.parse(commaArguments('hello', { names: ['path'], first: undefined }))).toEqual({ text: 'hello' });
});
