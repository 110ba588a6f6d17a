import { readFileSync, readdirSync } from 'node:fs';
import { mkdir, realpath, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runEnclosed, type EnclosedProcess } from '../../src/core/security/enclosure/enclosure.ts';
import {
  createSandbox,
  type EnclosureRequest,
  type Sandbox,
  type SandboxOptions,
} from '../../src/core/security/enclosure/sandbox.ts';
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
  run(command: string, request?: Partial<SandboxRun>): Promise<Ran>;
  /** Starts one and returns its process. */
  start(command: string, request?: Partial<SandboxRun>): Promise<EnclosedProcess>;
}

/** `environment`: all that the command sees of one. */
type SandboxRun = EnclosureRequest & { readonly environment: Readonly<Record<string, string>> };

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

  const start = async (command: string, request: Partial<SandboxRun> = {}): Promise<EnclosedProcess> => {
    const {
      environment = { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: workspace },
      cwd = workspace,
      ...rest
    } = request;
    const enclosure = await sandbox.enclose({ cwd, role: 'owner', ...rest });
    const program = { command: ['/bin/sh', '-c', command], cwd, environment };
    return runEnclosed(program, { ...enclosure, isCommand: true, clock: systemClock });
  };

  return {
    home,
    workspace,
    sandbox,
    start,
    async run(command, request) {
      const child = await start(command, request);
      let text = '';
      child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
      child.stderr.on('data', (chunk: Buffer) => (text += chunk.toString()));
      const { code } = await child.exit;
      return { text, code };
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
