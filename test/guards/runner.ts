import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createVitest, type TestModule } from 'vitest/node';
import { askedSchema, type Answer } from './mutation.ts';

/**
 * Runs test files as often as it is told to: a child process, begun in a copy of the tree with the number of workers.
 * What did not change since is not read again, so that a run takes little longer than its tests.
 */

/** For one test, also without a guard: many of them keep something from never ending. */
const LONGEST_TEST_MS = 20_000;
const OUTPUT_CHARS = 2_000;

const root = process.cwd();
const temporary = join(root, 't');
const vitest = await createVitest('test', {
  root,
  watch: false,
  // One failure says enough of a guard.
  bail: 1,
  testTimeout: LONGEST_TEST_MS,
  hookTimeout: LONGEST_TEST_MS,
  maxWorkers: Number(process.argv[2] ?? 1),
  env: { TMPDIR: temporary },
  reporters: [{}],
});
await vitest.standalone();
process.on('message', (message) => {
  const { files, changed } = askedSchema.parse(message);
  void run(files, changed).then(answer);
});
process.on('disconnect', () => process.exit());
process.send?.('ready');

async function run(files: readonly string[], changed: readonly string[]): Promise<Answer> {
  mkdirSync(temporary, { recursive: true });
  for (const file of changed) vitest.invalidateFile(join(root, file));
  // It counts the failures of all of its runs, and ends a run at the first.
  for (const seen of [vitest.state.filesMap, vitest.state.idMap, vitest.state.pathsSet]) seen.clear();
  const specifications = await vitest.globTestSpecifications(files.map((file) => join('test', file)));
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(specifications);
  const problems = [...testModules.flatMap((module) => module.errors()), ...unhandledErrors];
  const areAll = specifications.length === files.length && testModules.length === files.length;
  return {
    passed: areAll && problems.length === 0 && testModules.every((module) => module.ok()),
    failure: failureIn(testModules),
    said: problems.map(said).join('\n').slice(0, OUTPUT_CHARS),
  };
}

function answer(message: Answer): void {
  process.send?.(message);
}

function said(problem: unknown): string {
  return problem instanceof Object && 'message' in problem ? String(problem.message) : String(problem);
}

/** A file that cannot even be loaded proves nothing: its tests never began. */
function failureIn(modules: readonly TestModule[]): string | null {
  const failed = modules.flatMap((module) => [...module.children.allTests('failed')].map(({ fullName }) => fullName));
  if (failed.length > 0) return failed.join('\n');
  const hooks = modules.find((module) => module.state() === 'failed' && [...module.children.allTests()].length > 0);
  return hooks === undefined ? null : `${hooks.moduleId} (before its tests)`;
}
