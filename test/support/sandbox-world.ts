import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, readdirSync } from 'node:fs';
import { mkdir, realpath, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  createSandbox,
  type CommandRequest,
  type Sandbox,
  type SandboxOptions,
} from '../../src/core/security/sandbox/sandbox.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { systemRandom } from '../../src/core/util/random.ts';
import { writeProgram } from './program-file.ts';
import { missing } from './programs.ts';
import { tempFolder } from './temp.ts';
import { PATHS } from './extensions.ts';

export const BWRAP = '/usr/bin/bwrap';

/** Why commands can't run in the sandbox here; undefined if they can. */
export const noBubblewrap: string | undefined = missing('bubblewrap');

/** For titles of tests with and without the sandbox. */
export const IN_SANDBOX = `in the sandbox${noBubblewrap === undefined ? '' : ` (${noBubblewrap})`}`;

export const isRoot = process.getuid?.() === 0;

export interface Ran {
  /** Standard output and error. */
  readonly text: string;
  readonly code: number | null;
}

export interface SandboxWorld extends AsyncDisposable {
  /** Holds the workspace and, beside it, a file `secret`. */
  readonly home: string;
  readonly workspace: string;
  readonly sandbox: Sandbox;
  /** Runs a shell command inside, as the owner unless told otherwise. */
  run(command: string, request?: Partial<CommandRequest>): Promise<Ran>;
  /** Starts one and returns its process. */
  start(command: string, request?: Partial<CommandRequest>): Promise<ChildProcess>;
}

/** A home with a workspace and its sandbox; everything is gone when it is disposed. */
export async function sandboxWorld(options: Partial<SandboxOptions> = {}): Promise<SandboxWorld> {
  const folder = await tempFolder();
  const home = await realpath(folder.path);
  const workspace = join(home, 'workspace');
  await mkdir(workspace);
  await writeFile(join(home, 'secret'), 'do not read me\n');
  const sandbox = createSandbox({
    protectedFolders: PATHS.folders,
    home,
    workspace,
    folder: join(home, 'sandbox'),
    readRoots: [],
    clock: systemClock,
    random: systemRandom,
    ...options,
  });

  const start = async (command: string, request: Partial<CommandRequest> = {}): Promise<ChildProcess> => {
    const { file, args, env } = await sandbox.wrap({
      command: ['/bin/sh', '-c', command],
      cwd: workspace,
      role: 'owner',
      environment: { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: workspace },
      ...request,
    });
    return spawn(file, args, { env, cwd: '/', detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  };

  return {
    home,
    workspace,
    sandbox,
    start,
    async run(command, request) {
      const child = await start(command, request);
      let text = '';
      child.stdout?.on('data', (chunk: Buffer) => (text += chunk.toString()));
      child.stderr?.on('data', (chunk: Buffer) => (text += chunk.toString()));
      await once(child, 'close');
      return { text, code: child.exitCode };
    },
    async [Symbol.asyncDispose]() {
      await sandbox[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** A program in place of bwrap. */
export function fakeBubblewrap(folder: string, script: string): string {
  return writeProgram(join(folder, 'bwrap'), script);
}

/** Processes of this machine whose arguments hold `mark`; dead ones that nobody collected do not count. */
export function running(mark: string): number {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/u.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(mark);
    } catch {
      return false;
    }
  }).length;
}
