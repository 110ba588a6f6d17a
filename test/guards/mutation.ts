import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readdir, readFile, readlink, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';
import { without, type Mutant } from './mutants.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const FOLDERS = ['src', 'test', 'skills', 'workspace-template'];
/** Configuration that lies beside them. */
const CONFIGS = /^(?:package\.json|tsconfig.*\.json|vitest.*\.ts|esbuild\.config\.ts)$/u;
/** For one file; one that hangs fails by the time limits of its tests long before, unless it computes without end. */
const LONGEST_FILE_MS = 300_000;

/** What the runner is told. */
export const askedSchema = z.object({
  /** Below `test`. */
  files: z.array(z.string()),
  /** Below the copy: files that are others now. */
  changed: z.array(z.string()),
});

const answerSchema = z.object({ passed: z.boolean(), failure: z.string().nullable(), said: z.string() });

/** What the runner answers; the same as in `TestRun`. */
export type Answer = z.infer<typeof answerSchema>;

/** What a run of test files came to. */
export interface TestRun {
  readonly passed: boolean;
  /** The tests that failed, or the file whose hooks did or that did not end; null: none that had begun. */
  readonly failure: string | null;
  /** What the run said, for people. */
  readonly said: string;
  readonly ms: number;
}

/** A copy of the tree, in which anything may be broken. */
export interface Copy extends AsyncDisposable {
  /** `files` are below `test`. The run ends with its first failure. */
  run(files: readonly string[]): Promise<TestRun>;
  /** The same while the file of a mutant is what the mutant makes of it. */
  runWithout(mutant: Mutant, file: string): Promise<TestRun>;
}

/** Copies the tree into a folder of its own, in which its tests keep their temporary files too; what is installed is shared. */
export async function copyTree({ workers = 1 }: { readonly workers?: number } = {}): Promise<Copy> {
  const folder = await mkdtemp(join(await realpath(tmpdir()), 'guards-'));
  for (const name of FOLDERS) await cp(join(ROOT, name), join(folder, name), { recursive: true });
  const configs = (await readdir(ROOT)).filter((name) => CONFIGS.test(name));
  for (const name of configs) await cp(join(ROOT, name), join(folder, name));
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const runner = new Runner(folder, workers);
  const changed = new Set<string>();
  const run: Copy['run'] = async (files) => {
    const outcome = await runner.run({ files: [...files], changed: [...changed] });
    changed.clear();
    return outcome;
  };
  return {
    run,
    runWithout: async (mutant, file) => {
      const path = join('src', mutant.file);
      const text = await readFile(join(folder, path), 'utf8');
      await writeFile(join(folder, path), without(text, mutant));
      changed.add(path);
      try {
        return await run([file]);
      } finally {
        await writeFile(join(folder, path), text);
        changed.add(path);
      }
    },
    [Symbol.asyncDispose]: async () => {
      await runner[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** A process that runs tests in a copy, begun anew after a run that did not end. */
class Runner implements AsyncDisposable {
  readonly #folder: string;
  readonly #workers: number;
  #child: Promise<ChildProcess> | null = null;

  constructor(folder: string, workers: number) {
    this.#folder = folder;
    this.#workers = workers;
  }

  async run(asked: z.infer<typeof askedSchema>): Promise<TestRun> {
    const child = await (this.#child ??= this.#begin());
    const begun = performance.now();
    child.send(asked);
    const over = new AbortController();
    const late = AbortSignal.any([over.signal, AbortSignal.timeout(LONGEST_FILE_MS * asked.files.length)]);
    const answered = once(child, 'message', { signal: late }).then(([message]) => answerSchema.parse(message));
    const ended = once(child, 'exit', { signal: late }).then(() => null);
    const answer = await Promise.race([answered, ended]).catch(() => null);
    void answered.catch(() => {});
    void ended.catch(() => {});
    over.abort();
    if (answer === null) await this[Symbol.asyncDispose]();
    else await endStrays(this.#folder, child.pid);
    await rm(join(this.#folder, 't'), { recursive: true, force: true, maxRetries: 5 });
    const ms = Math.round(performance.now() - begun);
    return { passed: false, failure: `${asked.files.join(', ')} did not end`, said: '', ...answer, ms };
  }

  async #begin(): Promise<ChildProcess> {
    const child = fork(join(this.#folder, 'test', 'guards', 'runner.ts'), [String(this.#workers)], {
      cwd: this.#folder,
      env: plainEnvironment(),
      execArgv: [],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    await once(child, 'message');
    return child;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const child = await this.#child;
    this.#child = null;
    child?.kill('SIGKILL');
    await endStrays(this.#folder, child?.pid);
  }
}

/** Without its guards a test may leave something running: whatever still works in the copy is ended, but for the runner. */
async function endStrays(folder: string, runner: number | undefined): Promise<void> {
  const pids = await readdir('/proc').catch(() => []);
  for (const pid of pids.filter((name) => /^\d+$/u.test(name) && Number(name) !== runner)) {
    const place = await readlink(join('/proc', pid, 'cwd')).catch(() => '');
    if (!place.startsWith(folder + sep) && place !== folder) continue;
    try {
      process.kill(Number(pid), 'SIGKILL');
    } catch {
      // It ended meanwhile.
    }
  }
}

/** Without what the test runner around this one set for its own workers. */
function plainEnvironment(): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(
    ([name]) => !/^(?:VITE|VITEST|NODE_ENV|TEST$|DEV$|PROD$|MODE$|SSR$|BASE_URL$)/u.test(name),
  );
  return Object.fromEntries(own);
}
