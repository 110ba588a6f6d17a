import { createVitest, parseCLI, type TestCase, type TestModule, type TestSuite, type Vitest } from 'vitest/node';

/** A run with more flaky tests than this fails. */
const MOST_FLAKY = 3;
/** After more timeouts than this no test runs again: the machine or the program hangs. */
const MOST_RERUNS = 10;
/** Names of the errors of a test, a hook and `waitFor` that waited too long. */
const TIMEOUTS: ReadonlySet<string | undefined> = new Set(['TestTimeoutError', 'HookTimeoutError', 'WaitTimeoutError']);

/** A test that failed, or a suite or file with a hook that failed. */
interface Failure {
  readonly failed: TestCase | TestSuite | TestModule;
  readonly title: string;
  readonly isTimeout: boolean;
}

/**
 * `node test/scripts/run-tests.ts [OPTION of vitest | FILE]…`: runs tests as `vitest run` does. If timeouts are the only
 * failures, each test that timed out runs again at the end, alone. Those that pass then are listed as flaky.
 */
async function runTests(vitest: Vitest, files: readonly string[]): Promise<void> {
  const { testModules, unhandledErrors } = await vitest.start([...files]);
  const failures = testModules.flatMap(failuresIn);
  const states = new Map(testModules.flatMap(statesIn));
  const flaky: string[] = [];
  const isWorthIt = failures.length <= MOST_RERUNS && failures.every(({ isTimeout }) => isTimeout);
  if (unhandledErrors.length === 0 && failures.length > 0 && isWorthIt) {
    for (const failure of failures) {
      console.log(`\nTimed out, so it runs again, alone: ${failure.title}`);
      const again = await passesAlone(vitest, failure);
      if (again === undefined) continue;
      flaky.push(failure.title);
      for (const [title, state] of again) if (state === 'passed') states.set(title, state);
    }
    process.exitCode = flaky.length === failures.length && flaky.length <= MOST_FLAKY ? 0 : 1;
  }
  report(states, failures.length, flaky);
}

/** Runs a failed test, or all tests of a failed hook, with nothing beside it. Returns their states if none failed. */
async function passesAlone(vitest: Vitest, { failed }: Failure): Promise<ReturnType<typeof statesIn> | undefined> {
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications([failed.toTestSpecification()]);
  const { id } = failed.type === 'module' ? failed : failed.module;
  const module = testModules.find((one) => one.id === id);
  if (module === undefined || unhandledErrors.length > 0 || failuresIn(module).length > 0) return undefined;
  const states = statesIn(module);
  return states.some(([, state]) => state === 'passed') ? states : undefined;
}

function failuresIn(module: TestModule): readonly Failure[] {
  const hooks = [module, ...module.children.allSuites()].map((failed) => ({ failed, errors: failed.errors() }));
  const tests = [...module.children.allTests('failed')].map((failed) => ({ failed, errors: failed.result().errors }));
  return [...hooks.filter(({ errors }) => errors.length > 0), ...tests].map(({ failed, errors = [] }) => ({
    failed,
    title: failed.type === 'module' ? failed.relativeModuleId : titleOf(failed),
    isTimeout: errors.length > 0 && errors.every(({ name }) => TIMEOUTS.has(name)),
  }));
}

function statesIn(module: TestModule): readonly (readonly [title: string, state: string])[] {
  return [...module.children.allTests()].map((test) => [`${test.id} ${titleOf(test)}`, test.result().state]);
}

function titleOf({ module, fullName }: TestCase | TestSuite): string {
  return `${module.relativeModuleId} > ${fullName}`;
}

function report(states: ReadonlyMap<string, string>, failures: number, flaky: readonly string[]): void {
  const reasons = [...states]
    .filter(([, state]) => state === 'skipped')
    .flatMap(([title]) => /\(([^()]+ is not installed)\)/u.exec(title)?.[1] ?? []);
  for (const reason of new Set(reasons)) {
    console.log(`Skipped because ${reason}: ${reasons.filter((one) => one === reason).length}`);
  }
  if (flaky.length > 0) console.log(`Flaky (timed out, then passed alone; more than ${MOST_FLAKY} fail the run):`);
  for (const title of flaky) console.log(`  ${title}`);
  const count = (wanted: string): number => [...states.values()].filter((state) => state === wanted).length;
  console.log(
    `${count('passed')} passed, ${failures - flaky.length} failed, ${count('skipped')} skipped, ${flaky.length} flaky`,
  );
}

// As the command of vitest does.
process.env['NODE_ENV'] ??= 'test';
Object.assign(process.env, { TEST: 'true', VITEST: 'true' });

const { filter, options } = parseCLI(['vitest', 'run', ...process.argv.slice(2)]);
const vitest = await createVitest({ ...options, watch: false });
try {
  await runTests(vitest, filter);
} catch (error) {
  console.error(error);
  process.exitCode = 1;
}
await vitest.exit();
