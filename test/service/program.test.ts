import { expect, test } from 'vitest';
import { requireProgram, runProgram } from '../../src/service/program.ts';
import { failureOf } from '../config/temporary-home.ts';

const env = { PATH: '/usr/bin:/bin', ONLY: 'this' };

test('a program of the system is given these variables and no others', async () => {
  const { code, out } = await runProgram('env', [], { env });
  expect(code).toBe(0);
  expect(out.split('\n').filter((line) => !/^(?:_|PWD|SHLVL)=/u.test(line))).toEqual([
    'PATH=/usr/bin:/bin',
    'ONLY=this',
  ]);
});

test('one that does not end is ended, with one sentence and the next step', async () => {
  const { message } = await failureOf(requireProgram('sleep', ['60'], { env, seconds: 0.2, next: 'See the log.' }));
  expect(message).toBe('`sleep 60` did not end within 0.2 seconds. See the log.');
  const late = await failureOf(runProgram('sleep', ['60'], { env, seconds: 0.2 }));
  expect(late.message).toContain('Run it by hand to see why, then try again.');
});

test('one that fails is quoted by its first line', async () => {
  const { message } = await failureOf(
    requireProgram('sh', ['-c', 'echo no. >&2; echo more >&2; exit 3'], { env, next: 'Go.' }),
  );
  expect(message).toContain('failed: no. Go.');
  const silent = await failureOf(requireProgram('false', [], { env, next: 'Go.' }));
  expect(silent.message).toBe('`false` failed: it ended with code 1. Go.');
});
