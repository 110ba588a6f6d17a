import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readdir, readFile, readlink, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';
import type { Guard } from './guard.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const FOLDERS = ['src', 'test', 'skills', 'workspace-template'];
/** Configuration that lies beside them. */
const CONFIGS = /^(?:package\.json|tsconfig.*\.json|vitest.*\.ts|esbuild\.config\.ts)$/u;
/** For one test, also without a guard: many of them keep something from never ending. */
const LONGEST_TEST_MS = 20_000;
/** For one file; one that hangs fails by the time limits of its tests long before. */
const LONGEST_FILE_MS = 300_000;
const OUTPUT_CHARS = 2_000;

const reportSchema = z.object({
  success: z.boolean(),
  testResults: z.array(
    z.object({
      name: z.string(),
      status: z.string(),
      message: z.string().optional(),
      assertionResults: z.array(z.object({ status: z.string(), fullName: z.string() })),
    }),
  ),
});

/** What a run of test files came to. */
export interface TestRun {
  readonly passed: boolean;
  /** The tests that failed, or the file whose hooks did; null: none that had begun. */
  readonly failure: string | null;
  /** What the run said, for people. */
  readonly said: string;
  readonly ms: number;
}

/** A copy of the tree, in which anything may be broken. */
export interface Copy extends AsyncDisposable {
  /** `files` are below `test`. */
  run(files: readonly string[], options?: { readonly workers?: number }): Promise<TestRun>;
  /** The same while a guard is disabled. */
  runWithout(guard: Guard, file: string): Promise<TestRun>;
}

/** Copies the tree into a folder of its own, in which its tests keep their temporary files too; what is installed is shared. */
export async function copyTree(): Promise<Copy> {
  const folder = await mkdtemp(join(await realpath(tmpdir()), 'guards-'));
  for (const name of FOLDERS) await cp(join(ROOT, name), join(folder, name), { recursive: true });
  const configs = (await readdir(ROOT)).filter((name) => CONFIGS.test(name));
  for (const name of configs) await cp(join(ROOT, name), join(folder, name));
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const run: Copy['run'] = (files, { workers = 1 } = {}) => runTests(folder, files, workers);
  return {
    run,
    runWithout: async (guard, file) => {
      const path = join(folder, 'src', guard.file);
      const text = await readFile(path, 'utf8');
      const without = disabled(text, guard);
      if (without === null) return { passed: false, failure: null, said: 'It is not found in its file.', ms: 0 };
      await writeFile(path, without);
      try {
        return await run([file]);
      } finally {
        await writeFile(path, text);
      }
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true, maxRetries: 5 }),
  };
}

/** The text of the guard's file without the guard; null when what it looks for does not occur exactly once. */
export function disabled(text: string, { find, replace }: Guard): string | null {
  const parts = text.split(find);
  return parts.length === 2 ? parts.join(replace) : null;
}

async function runTests(folder: string, files: readonly string[], workers: number): Promise<TestRun> {
  const begun = performance.now();
  const report = join(folder, 'report.json');
  const temporary = join(folder, 't');
  await rm(report, { force: true });
  await mkdir(temporary, { recursive: true });
  const options = [
    'run',
    // One failure says enough of a guard.
    ...(files.length === 1 ? ['--bail=1'] : []),
    '--no-cache',
    '--no-fsModuleCache',
    `--testTimeout=${LONGEST_TEST_MS}`,
    `--hookTimeout=${LONGEST_TEST_MS}`,
    '--reporter=json',
    `--outputFile=${report}`,
    `--maxWorkers=${workers}`,
  ];
  const vitest = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs');
  const child = spawn(process.execPath, [vitest, ...options, ...files.map((file) => join('test', file))], {
    cwd: folder,
    env: { ...plainEnvironment(), TMPDIR: temporary },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: LONGEST_FILE_MS * files.length,
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => (said = (said + chunk.toString()).slice(-OUTPUT_CHARS)));
  }
  const [code] = await once(child, 'exit');
  await endStrays(folder);
  for (const stream of [child.stdout, child.stderr]) stream.destroy();
  await rm(temporary, { recursive: true, force: true, maxRetries: 5 });
  const ms = Math.round(performance.now() - begun);
  const text = await readFile(report, 'utf8').catch(() => null);
  if (text === null) return { passed: false, failure: null, said, ms };
  const { success, testResults } = reportSchema.parse(JSON.parse(text));
  const passed = success && code === 0 && testResults.length === files.length;
  const messages = testResults.flatMap(({ message = '' }) => (message === '' ? [] : [message]));
  return { passed, failure: failureIn(testResults), said: [...messages, said].join('\n').slice(0, OUTPUT_CHARS), ms };
}

/** Without its guards a test may leave something running: whatever still works in the copy is ended. */
async function endStrays(folder: string): Promise<void> {
  const pids = await readdir('/proc').catch(() => []);
  for (const pid of pids.filter((name) => /^\d+$/u.test(name))) {
    const place = await readlink(join('/proc', pid, 'cwd')).catch(() => '');
    if (!place.startsWith(folder + sep) && place !== folder) continue;
    try {
      process.kill(Number(pid), 'SIGKILL');
    } catch {
      // It ended meanwhile.
    }
  }
}

/** A file that can not even be loaded proves nothing: its tests never began. */
function failureIn(results: z.infer<typeof reportSchema>['testResults']): string | null {
  const tests = results.flatMap(({ assertionResults }) => assertionResults);
  const failed = tests.filter(({ status }) => status === 'failed').map(({ fullName }) => fullName);
  if (failed.length > 0) return failed.join('\n');
  const hooks = results.find(({ status, assertionResults }) => status === 'failed' && assertionResults.length > 0);
  return hooks === undefined ? null : `${hooks.name} (before its tests)`;
}

/** Without what the test runner around this one set for its own workers. */
function plainEnvironment(): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(
    ([name]) => !/^(?:VITE|VITEST|NODE_ENV|TEST$|DEV$|PROD$|MODE$|SSR$|BASE_URL$)/u.test(name),
  );
  return Object.fromEntries(own);
}
