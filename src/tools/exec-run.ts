import { spawn } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { deadline, raceAbort, sleep, type Clock } from '../util/clock.ts';
import { AppError, errorCode } from '../util/errors.ts';
import { watchLimits, type CommandLimits, type Exceeded } from './exec-watch.ts';
import { OutputEnds } from './output-ends.ts';
import { MARKER, ProcessTree, send } from './process-tree.ts';

const TERM_GRACE_MS = 1_000;
/** How long what outlives the shell may take to end by itself. */
const FINISH_ROUNDS = 15;
const FINISH_GRACE_MS = 60;
const DRAIN_QUIET_MS = 1_000;
const DRAIN_MS = 2_000;
const POLL_MS = 10;

/** A command for the best shell there is. */
export function shellCall(command: string, env: Readonly<Record<string, string>>): ProgramCall {
  return { file: findProgram('bash', env['PATH'] ?? '') ?? '/bin/sh', args: ['-c', command, 'bash'], env };
}

export interface CommandOptions {
  /** The program, its arguments and its whole environment but for the marker. */
  readonly program: ProgramCall;
  readonly cwd: string;
  /** @default nobody looks */
  readonly limits?: CommandLimits;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

export interface ProgramCall {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export interface CommandOutcome {
  /** Null when a signal ended the shell. */
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly timedOut: boolean;
  /** The limit that it was ended for. */
  readonly exceeded: Exceeded | null;
  /** Something outlived the shell and was ended. */
  readonly background: boolean;
  /** False when something could not be ended, or hid itself and still holds the output. */
  readonly clean: boolean;
  /** Standard output and error as they came, decoded, control characters spelled out. */
  readonly output: string;
  /** The middle of the output is left out. */
  readonly truncated: boolean;
  readonly bytes: number;
  readonly durationMs: number;
}

/**
 * Runs a program in a session of its own with nothing on standard input. When it settles nothing that the command
 * started runs any more, as far as it can be found. Rejects with the signal's reason when aborted, once all is ended,
 * and with an `AppError` when no shell could be started.
 */
export async function runCommand(options: CommandOptions): Promise<CommandOutcome> {
  const { signal, clock, timeoutMs } = options;
  signal.throwIfAborted();
  const begun = clock.monotonic();
  const shell = startOrExplain(options);
  using limit = deadline(clock, timeoutMs, 'the command');
  using watch = options.limits && watchLimits(options.limits, { ...options, ...shell });
  const stop = AbortSignal.any([signal, limit.signal, ...(watch === undefined ? [] : [watch.signal])]);
  let exit: Exit = { code: null, signal: null };
  let background = false;
  let clean = true;
  try {
    exit = await raceAbort(shell.exit, stop);
    ({ background, clean } = await finish(shell, clock));
  } catch (error) {
    if (!stop.aborted) throw startFailure(error);
    const ended = await shell.tree.end(clock, TERM_GRACE_MS);
    exit = await Promise.race([shell.exit, sleep(clock, TERM_GRACE_MS).then(() => exit)]);
    await drain(shell, clock);
    clean = ended && shell.closed();
  } finally {
    shell.close();
  }
  signal.throwIfAborted();
  return {
    exitCode: exit.code,
    signal: exit.signal,
    timedOut: limit.signal.aborted,
    exceeded: limit.signal.aborted ? null : (watch?.exceeded() ?? null),
    background,
    clean,
    ...shell.output.text(),
    bytes: shell.output.bytes,
    durationMs: Math.round(clock.monotonic() - begun),
  };
}

interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
}

interface Shell {
  readonly tree: ProcessTree;
  readonly output: OutputEnds;
  readonly exit: Promise<Exit>;
  /** Its output has ended. */
  readonly closed: () => boolean;
  readonly close: () => void;
}

/**
 * One stream for both outputs keeps their order. Node's pipes are sockets, which `/dev/stdout` and `/dev/stderr` can not
 * open on Linux; `cat` between them makes it a real pipe, and its process id comes back on descriptor 3.
 */
const PIPED = `exec > >(trap '' HUP INT TERM; exec "$0" 3>&-) 2>&1
printf '%s\\n' "$!" >&3
export ${MARKER}=$$
exec "$@" 3>&-`;
const PLAIN = `exec 2>&1
export ${MARKER}=$$
exec "$@" 3>&-`;

function startShell({ program, cwd, clock }: CommandOptions): Shell {
  const { file, args, env } = program;
  const path = env['PATH'] ?? '';
  const bash = findProgram('bash', path);
  const cat = existsSync('/proc/self/stat') ? findProgram('cat', path) : undefined;
  const [shell, script] =
    bash === undefined || cat === undefined
      ? ['/bin/sh', ['-c', PLAIN]]
      : [bash, ['--norc', '--noprofile', '-c', PIPED]];
  const child = spawn(shell, [...script, cat ?? '', file, ...args], {
    cwd,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore', 'pipe'],
  });
  const tree = new ProcessTree(child.pid);
  const output = new OutputEnds(clock);
  const [, stdout, , control] = child.stdio;
  let closed = false;
  stdout?.on('data', (chunk: Buffer) => output.add(chunk));
  stdout?.once('close', () => (closed = true));
  stdout?.on('error', () => {});
  let pump = 0;
  const introduced = new Promise<void>((resolve) => {
    if (control === null || control === undefined || !('read' in control)) return resolve();
    control.once('data', (chunk: Buffer) => {
      pump = Number(chunk.toString('latin1'));
      tree.spare(pump);
      resolve();
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
    exit: exit.then((value) => introduced.then(() => value)),
    closed: () => closed,
    close: () => {
      if (!closed && pump > 0) send(pump, 'SIGKILL');
      stdout?.destroy();
      control?.destroy();
    },
  };
}

/** The system refuses some starts at once and some later. */
function startOrExplain(options: CommandOptions): Shell {
  try {
    return startShell(options);
  } catch (error) {
    throw startFailure(error);
  }
}

function startFailure(error: unknown): AppError {
  const code = errorCode(error) ?? 'unknown error';
  const message =
    code === 'E2BIG'
      ? 'The command is too long for the system; write it to a file and run that.'
      : `The shell could not be started (${code}).`;
  return new AppError('exec-start', message, { cause: error });
}

/** After the shell's end: what it left running gets a moment, then is ended. */
async function finish(shell: Shell, clock: Clock): Promise<{ background: boolean; clean: boolean }> {
  let left = shell.tree.alive().length;
  for (let round = 0; left > 0 && round < FINISH_ROUNDS; round += 1) {
    await sleep(clock, POLL_MS);
    left = shell.tree.alive().length;
  }
  const ended = left === 0 || (await shell.tree.end(clock, FINISH_GRACE_MS));
  await drain(shell, clock);
  return { background: left > 0, clean: ended && shell.closed() };
}

/** Reads what is still under way, until the end or until nothing comes any more from something that hid itself. */
async function drain({ output, closed }: Shell, clock: Clock): Promise<void> {
  const begun = clock.monotonic();
  while (!closed()) {
    const now = clock.monotonic();
    if (now - begun > DRAIN_MS || now - Math.max(begun, output.lastAt) > DRAIN_QUIET_MS) return;
    await sleep(clock, POLL_MS);
  }
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
