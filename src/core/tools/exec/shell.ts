import { spawn } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import type { Duplex, Readable, Writable } from 'node:stream';
import type { Clock } from '../../util/clock.ts';
import { AppError, errorCode } from '../../util/errors.ts';
import { NotPermitted, type Permit } from '../../util/permit.ts';
import { OutputEnds } from './output-ends.ts';
import type { Piece, StreamName } from './output-order.ts';
import { MARKER, ProcessTree, send } from './process-tree.ts';
import { underSubreaper } from './subreaper.ts';

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
  readonly sink?: (piece: Piece) => Promise<void> | undefined;
  /** Asked in the moment in which it starts. @default always permitted */
  readonly permit?: Pick<Permit, 'check' | 'isGranted'>;
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
  /** Both of its outputs have ended. */
  readonly closed: () => boolean;
  readonly close: () => void;
}

/** A command for the best shell there is. All that it started ends with this process, if there is a subreaper. */
export function shellCall(command: string, env: Readonly<Record<string, string>>): ProgramCall {
  const shell = [findProgram('bash', env['PATH'] ?? '') ?? '/bin/sh', '-c', command, 'bash'];
  const [file = '', ...args] = underSubreaper(shell, { leaves: true }) ?? shell;
  return { file, args, env };
}

/**
 * Node's pipes are sockets, which `/dev/stdin`, `/dev/stdout` and `/dev/stderr` cannot open on Linux; a `cat` for each
 * makes real pipes, and the process ids come back on descriptor 3. None holds the pipe of another open.
 */
const PUMP = `(trap '' HUP INT TERM; exec "$0"`;
const TELL = `printf '%s\\n' "$!" >&3`;
const INPUT = `exec < <${PUMP} 2>/dev/null 3>&-)
${TELL}
`;
const PIPED = `exec > >${PUMP} 2>/dev/null 3>&-)
${TELL}
exec 2> >${PUMP} >&2 3>&-)
${TELL}
export ${MARKER}="\${${MARKER}:-$$}"
exec "$@" 3>&-`;
/** Waits for a line on descriptor 3, or the end of who would write it. */
const WAIT = `read -r _ <&3 || exit
`;
const PLAIN = `export ${MARKER}="\${${MARKER}:-$$}"
exec "$@" 3>&-`;

/** Throws `NotPermitted`, or an `AppError` when the system refuses at once; what it refuses later, `exit` rejects with. */
export function startShell(options: ShellOptions): Shell {
  try {
    return start(options);
  } catch (error) {
    throw error instanceof NotPermitted ? error : startFailure(error);
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

function start({ program, cwd, clock, input = false, mark, sink, permit }: ShellOptions): Shell {
  const { file, args } = program;
  // An empty one is filled in by the shell.
  const env: ProgramCall['env'] = { ...program.env, [MARKER]: mark ?? '' };
  const path = env['PATH'] ?? '';
  const bash = findProgram('bash', path);
  const cat = existsSync('/proc/self/stat') ? findProgram('cat', path) : undefined;
  const wait = permit === undefined ? '' : WAIT;
  const [shell, script] =
    bash === undefined || cat === undefined
      ? ['/bin/sh', ['-c', wait + PLAIN]]
      : [bash, ['--norc', '--noprofile', '-c', wait + (input ? INPUT : '') + PIPED]];
  permit?.check();
  const child = spawn(shell, [...script, cat ?? '', file, ...args], {
    cwd,
    env,
    detached: true,
    stdio: [input ? 'pipe' : 'ignore', 'pipe', 'pipe', 'pipe'],
  });
  const tree = new ProcessTree(child.pid, mark);
  const output = new OutputEnds(clock, sink);
  const [stdin, stdout, stderr, control] = child.stdio;
  const open = new Set<StreamName>(['stdout', 'stderr']);
  const read = (stream: StreamName, from: Readable | null): void => {
    from?.on('data', (bytes: Buffer) => {
      const busy = output.add({ stream, bytes });
      if (busy === undefined) return;
      for (const pipe of [stdout, stderr]) pipe?.pause();
      void busy.then(() => [stdout, stderr].forEach((pipe) => pipe?.resume()));
    });
    from?.once('close', () => open.delete(stream));
    from?.on('error', () => {});
  };
  read('stdout', stdout);
  read('stderr', stderr);
  stdin?.on('error', () => {});
  // A start takes milliseconds, in which this process may have stood still.
  if (permit?.isGranted === false && child.pid !== undefined) send(-child.pid, 'SIGKILL');
  else if (permit !== undefined) (control as Duplex | null)?.write('\n');
  let pumps: readonly number[] = [];
  const introduced = new Promise<void>((resolve) => {
    if (control === null || control === undefined || !('read' in control)) return resolve();
    let received = '';
    control.on('data', (chunk: Buffer) => {
      received += chunk.toString('latin1');
      pumps = received.split('\n').slice(0, -1).map(Number);
      tree.spare(pumps);
      if (pumps.length === (input ? 3 : 2)) resolve();
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
    closed: () => open.size === 0,
    close: () => {
      const [out, err] = pumps.slice(input ? 1 : 0);
      if (open.has('stdout') && out !== undefined) send(out, 'SIGKILL');
      if (open.has('stderr') && err !== undefined) send(err, 'SIGKILL');
      output.flush();
      stdin?.destroy();
      stdout?.destroy();
      stderr?.destroy();
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
