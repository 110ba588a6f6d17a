import { expect, test } from 'vitest';
import { GUARDS } from './guards.ts';
import type { Guard } from './guard.ts';
import { copyTree, type Copy } from './mutation.ts';

/** For each of the two tests; a busy machine takes long. */
const LONGEST_MS = 3 * 60 * 60_000;

/** Runs beside each other. @default 2 */
const AT_ONCE = Math.max(1, Number(process.env['AT_ONCE'] ?? 2));

/** Parts of names or of files, with commas between them; all guards when there is none. */
const wanted = (process.env['GUARDS'] ?? '').split(',').filter((part) => part !== '');
const guards = GUARDS.filter(
  ({ name, file }) => wanted.length === 0 || wanted.some((part) => `${name} ${file}`.includes(part)),
);

interface Verdict {
  readonly guard: Guard;
  readonly file: string;
  /** The test that failed; null: none did. */
  readonly killer: string | null;
  readonly ms: number;
  /** Of a run that proves nothing, what it said. */
  readonly said: string;
}

test('with every guard in its place all of their tests pass', { timeout: LONGEST_MS }, async () => {
  await using copy = await copyTree();
  const files = [...new Set(guards.flatMap(({ tests }) => tests))];
  const run = await copy.run(files, { workers: AT_ONCE });
  process.stdout.write(`${files.length} test files, ${seconds(run.ms)}\n`);
  expect(run.passed ? '' : `${run.failure ?? 'a file could not be loaded'}\n${run.said}`).toBe('');
});

test('without any one of the guards its tests fail', { timeout: LONGEST_MS }, async () => {
  const waiting = guards.flatMap((guard) => guard.tests.map((file) => ({ guard, file })));
  const verdicts: Verdict[] = [];
  const work = async (copy: Copy): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const { failure, passed, said, ms } = await copy.runWithout(next.guard, next.file);
      const verdict = { ...next, killer: failure, ms, said: passed ? '' : said };
      verdicts.push(verdict);
      process.stdout.write(`${lineOf(verdict)}\n`);
    }
  };
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      await using copy = await copyTree();
      await work(copy);
    }),
  );
  const alive = verdicts.filter(({ killer }) => killer === null);
  process.stdout.write(`${guards.length} guards, ${verdicts.length} runs, ${alive.length} without a killer\n`);
  expect(alive.map((verdict) => `${lineOf(verdict)}\n  ${verdict.guard.holds}\n${verdict.said}`)).toEqual([]);
});

function lineOf({ guard, file, killer, ms }: Verdict): string {
  const state = killer === null ? 'ALIVE ' : 'killed';
  return `${state} ${guard.name.padEnd(34)} ${seconds(ms).padStart(6)}  ${file}${killer === null ? '' : `: ${killer}`}`;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
