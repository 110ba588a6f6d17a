import { spawn } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import type { Writable } from 'node:stream';
import type { Clock } from '../../util/clock.ts';
import { AppError, errorCode } from '../../util/errors.ts';
import { OutputEnds } from './output-ends.ts';
import { MARKER, ProcessTree, send } from './process-tree.ts';

export interface ProgramCall {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export interface ShellOptions {
  /** The program, its arguments and its whole environment but for the marker. */
  readonly program: ProgramCall;
  readonly cwd: string;
  /** Gives it a pipe as standard input. @default nothing is on it */
  readonly input?: boolean;
  /** What the marker holds. @default its process id */
  readonly mark?: string;
  /** Told all that it writes; while it is busy nothing more is read. @default the ends are kept */
  readonly sink?: (chunk: Buffer) => Promise<void> | undefined;
  readonly clock: Clock;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
}

/** A program that runs in a session of its own. */
export interface Shell {
  readonly tree: ProcessTree;
  readonly output: OutputEnds;
  /** Null unless it was given one. */
  readonly input: Writable | null;
  readonly exit: Promise<Exit>;
  /** Its output has ended. */
  readonly closed: () => boolean;
  readonly close: () => void;
}

/** A command for the best shell there is. */
export function shellCall(command: string, env: Readonly<Record<string, string>>): ProgramCall {
  return { file: findProgram('bash', env['PATH'] ?? '') ?? '/bin/sh', args: ['-c', command, 'bash'], env };
}

/**
 * One stream for both outputs keeps their order. Node's pipes are sockets, which `/dev/stdin`, `/dev/stdout` and
 * `/dev/stderr` cannot open on Linux; `cat` between them makes real pipes, and the process ids come back on
 * descriptor 3.
 */
const PUMP = `(trap '' HUP INT TERM; exec "$0" 3>&-)`;
const TELL = `printf '%s\\n' "$!" >&3`;
const INPUT = `exec < <${PUMP}
${TELL}
`;
const PIPED = `exec > >${PUMP} 2>&1
${TELL}
export ${MARKER}="\${${MARKER}:-$$}"
exec "$@" 3>&-`;
const PLAIN = `exec 2>&1
export ${MARKER}="\${${MARKER}:-$$}"
exec "$@" 3>&-`;

/** Throws an `AppError` when the system refuses at once; what it refuses later, `exit` rejects with. */
export function startShell(options: ShellOptions): Shell {
  try {
    return start(options);
  } catch (error) {
    throw startFailure(error);
  }
}

export function startFailure(error: unknown): AppError {
  const code = errorCode(error) ?? 'unknown error';
  const message =
    code === 'E2BIG'
      ? 'The command is too long for the system; write it to a file and run that.'
      : `The shell could not be started (${code}).`;
  return new AppError('exec-start', message, { cause: error });
}

function start({ program, cwd, clock, input = false, mark, sink }: ShellOptions): Shell {
  const { file, args } = program;
  // An empty one is filled in by the shell.
  const env: ProgramCall['env'] = { ...program.env, [MARKER]: mark ?? '' };
  const path = env['PATH'] ?? '';
  const bash = findProgram('bash', path);
  const cat = existsSync('/proc/self/stat') ? findProgram('cat', path) : undefined;
  const [shell, script] =
    bash === undefined || cat === undefined
      ? ['/bin/sh', ['-c', PLAIN]]
      : [bash, ['--norc', '--noprofile', '-c', (input ? INPUT : '') + PIPED]];
  const child = spawn(shell, [...script, cat ?? '', file, ...args], {
    cwd,
    env,
    detached: true,
    stdio: [input ? 'pipe' : 'ignore', 'pipe', 'ignore', 'pipe'],
  });
  const tree = new ProcessTree(child.pid, mark);
  const output = new OutputEnds(clock);
  const [stdin, stdout, , control] = child.stdio;
  let closed = false;
  stdout?.on('data', (chunk: Buffer) => {
    output.add(chunk);
    const busy = sink?.(chunk);
    if (busy === undefined) return;
    stdout.pause();
    void busy.then(() => stdout.resume());
  });
  stdout?.once('close', () => (closed = true));
  stdout?.on('error', () => {});
  stdin?.on('error', () => {});
  let pumps: readonly number[] = [];
  const introduced = new Promise<void>((resolve) => {
    if (control === null || control === undefined || !('read' in control)) return resolve();
    let received = '';
    control.on('data', (chunk: Buffer) => {
      received += chunk.toString('latin1');
      pumps = received.split('\n').slice(0, -1).map(Number);
      tree.spare(pumps);
      if (pumps.length === (input ? 2 : 1)) resolve();
    });
    control.once('close', resolve);
    control.on('error', () => {});
  });
  const exit = new Promise<Exit>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
  return {
    tree,
    output,
    input: stdin,
    exit: exit.then((value) => introduced.then(() => value)),
    closed: () => closed,
    close: () => {
      // The last one holds the output.
      const pump = pumps.at(-1);
      if (!closed && pump !== undefined) send(pump, 'SIGKILL');
      stdin?.destroy();
      stdout?.destroy();
      control?.destroy();
    },
  };
}

/** Where a shell with this `PATH` finds a program. */
export function findProgram(name: string, path: string): string | undefined {
  const folders = [...path.split(':').filter((folder) => isAbsolute(folder)), '/bin', '/usr/bin', '/usr/local/bin'];
  return folders.map((folder) => join(folder, name)).find((file) => isExecutable(file));
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
