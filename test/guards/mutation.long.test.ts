import { expect, test } from 'vitest';
import { GENERATED, type Mutant } from './mutants.ts';
import { copyTree, type Copy } from './mutation.ts';
import { sampleOf } from './sample.ts';

/** For each of the two tests; a busy machine takes long. */
const LONGEST_MS = 6 * 60 * 60_000;

/** Runs beside each other. @default 2 */
const AT_ONCE = Math.max(1, Number(process.env['AT_ONCE'] ?? 2));

/** Parts of names or of files, with commas between them; everything when there is none. */
const wanted = (process.env['GUARDS'] ?? '').split(',').filter((part) => part !== '');
const mutants = sampleOf(
  GENERATED.filter(({ name, file }) => wanted.length === 0 || wanted.some((part) => `${name} ${file}`.includes(part))),
  { size: Number(process.env['SAMPLE'] ?? Infinity), seed: Number(process.env['SEED'] ?? 1) },
);

interface Verdict {
  readonly mutant: Mutant;
  /** The file and the test that failed; null: none did. */
  readonly killer: string | null;
  readonly ms: number;
  /** Of runs that prove nothing, what they said. */
  readonly said: string;
}

test('with every guard in its place all of their tests pass', { timeout: LONGEST_MS }, async () => {
  await using copy = await copyTree({ workers: AT_ONCE });
  const files = [...new Set(mutants.flatMap(({ tests }) => tests))];
  const run = await copy.run(files);
  process.stdout.write(`${files.length} test files, ${seconds(run.ms)}\n`);
  expect(run.passed ? '' : `${run.failure ?? 'a file could not be loaded'}\n${run.said}`).toBe('');
});

test('without any one of the guards its tests fail', { timeout: LONGEST_MS }, async () => {
  const waiting = [...mutants];
  const verdicts: Verdict[] = [];
  const work = async (copy: Copy): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const verdict = await judge(copy, next);
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
  process.stdout.write(`${mutants.length} mutants, ${verdicts.length} runs, ${alive.length} without a killer\n`);
  expect(alive.map((verdict) => `${lineOf(verdict)}\n  ${verdict.mutant.holds}\n${verdict.said}`)).toEqual([]);
});

/** Runs the tests one after the other, until one fails. */
async function judge(copy: Copy, mutant: Mutant): Promise<Verdict> {
  let ms = 0;
  let said = '';
  for (const file of mutant.tests) {
    const run = await copy.runWithout(mutant, file);
    ms += run.ms;
    said += run.said;
    if (run.failure !== null) return { mutant, killer: `${file}: ${run.failure}`, ms, said };
  }
  return { mutant, killer: null, ms, said };
}

function lineOf({ mutant, killer, ms }: Verdict): string {
  const state = killer === null ? 'ALIVE ' : 'killed';
  return `${state} ${seconds(ms).padStart(6)}  ${mutant.name.padEnd(34)}  ${killer ?? mutant.tests.join(', ')}`;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
