import { execFile } from 'node:child_process';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { tempFolder } from '../support/temp.ts';

const SCRIPT = fileURLToPath(new URL('run-tests.ts', import.meta.url));
const MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url));
const WAIT = fileURLToPath(new URL('../support/wait.ts', import.meta.url));

const PRELUDE = `import { existsSync, writeFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { waitFor } from ${JSON.stringify(WAIT)};
const hang = () => new Promise(() => {});
const isFirst = (mark) => !existsSync(mark + '.mark') && (writeFileSync(mark + '.mark', ''), true);
const hangOnce = async (mark) => isFirst(mark) && (await hang());
`;

/** Runs a project whose one file holds this. */
async function run(body: string): Promise<{ readonly code: number; readonly lines: readonly string[] }> {
  await using folder = await tempFolder();
  await symlink(MODULES, join(folder.path, 'node_modules'));
  const config = `export default { test: { pool: 'forks', isolate: false, testTimeout: 300, hookTimeout: 300 } };`;
  await writeFile(join(folder.path, 'vitest.config.mjs'), config);
  await mkdir(join(folder.path, 'test'));
  await writeFile(join(folder.path, 'test/some.test.mjs'), PRELUDE + body);
  return await new Promise((resolve) => {
    const options = { cwd: folder.path, timeout: 60_000 };
    execFile(process.execPath, [SCRIPT], options, (error, stdout, stderr) => {
      const lines = stripVTControlCharacters(`${stderr}\n${stdout}`).split('\n');
      resolve({ code: Number(error?.code ?? 0), lines: lines.filter((line) => line !== '') });
    });
  });
}

const reruns = (lines: readonly string[]): readonly string[] =>
  lines.filter((line) => line.startsWith('Timed out, so it runs again, alone: '));

test('tests and hooks that time out in a run but pass alone are listed as flaky', async () => {
  const { code, lines } = await run(`
    test('fine', () => {});
    test('late once', () => hangOnce('test'));
    test('waits once', async () => {
      if (isFirst('wait')) await waitFor(() => false, { timeoutMs: 1 });
    });
    describe('a group', () => {
      beforeAll(() => hangOnce('hook'));
      test('with a late hook', () => {});
      test.skip('without its program (tmux is not installed)', () => {});
    });`);
  expect(lines.slice(-6)).toEqual([
    'Skipped because tmux is not installed: 1',
    'Flaky (timed out, then passed alone; more than 3 fail the run):',
    '  test/some.test.mjs > a group',
    '  test/some.test.mjs > late once',
    '  test/some.test.mjs > waits once',
    '4 passed, 0 failed, 1 skipped, 3 flaky',
  ]);
  expect(code).toBe(0);
});

test('a fourth flaky test fails the run', async () => {
  const { code, lines } = await run(
    ['a', 'b', 'c', 'd'].map((name) => `test('${name}', () => hangOnce('${name}'));`).join('\n'),
  );
  expect(lines.at(-1)).toBe('4 passed, 0 failed, 0 skipped, 4 flaky');
  expect(code).toBe(1);
});

test('a test that times out alone too fails the run', async () => {
  const { code, lines } = await run(`test('never ends', hang); test('late once', () => hangOnce('test'));`);
  expect(lines.at(-1)).toBe('1 passed, 1 failed, 0 skipped, 1 flaky');
  expect(code).toBe(1);
});

test.each([
  ['a failed expectation', `test('wrong', () => expect(1).toBe(2));`],
  ['an error that only says so', `test('wrong', () => { throw new Error('Test timed out in 300ms.'); });`],
  ['a failed hook', `describe('group', () => { beforeAll(() => { throw new Error('no'); }); test('x', () => {}); });`],
  ['an error that nobody caught', `test('wrong', () => void Promise.reject(new Error('uncaught')));`],
  ['a file that cannot be read', `import './missing.mjs';`],
])('%s fails the run, and no test runs again', async (_what, body) => {
  const { code, lines } = await run(`test('late once', () => hangOnce('test'));\n${body}`);
  expect(reruns(lines)).toEqual([]);
  expect(code).toBe(1);
});

test('a run without failures says how many tests passed, and that is its last line', async () => {
  const { code, lines } = await run(`test('fine', () => {}); test.skip('not now', () => {});`);
  expect(lines.at(-1)).toBe('1 passed, 0 failed, 1 skipped, 0 flaky');
  expect(code).toBe(0);
});
