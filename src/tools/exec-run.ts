import { spawn } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { deadline, raceAbort, sleep, type Clock } from '../util/clock.ts';
import { AppError, errorCode } from '../util/errors.ts';
import { cut, cutStart } from '../util/text.ts';
import { MARKER, ProcessTree, send } from './process-tree.ts';

/** Characters kept of a long output: its beginning and its end. */
const HEAD_CHARS = 10_000;
const TAIL_CHARS = 5_000;
/** A UTF-8 sequence has four bytes at most. */
const HEAD_BYTES = HEAD_CHARS * 4;
const TAIL_BYTES = TAIL_CHARS * 4;

const TERM_GRACE_MS = 1_000;
/** How long what outlives the shell may take to end by itself. */
const FINISH_ROUNDS = 15;
const FINISH_GRACE_MS = 60;
const DRAIN_QUIET_MS = 1_000;
const DRAIN_MS = 2_000;
const POLL_MS = 10;

export interface CommandOptions {
  readonly command: string;
  readonly cwd: string;
  /** The whole environment but for the marker. */
  readonly environment: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

export interface CommandOutcome {
  /** Null when a signal ended the shell. */
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly timedOut: boolean;
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
 * Runs a command in a shell of its own session with nothing on standard input. When it settles nothing that the command
 * started runs any more, as far as it can be found. Rejects with the signal's reason when aborted, once all is ended,
 * and with an `AppError` when no shell could be started.
 */
export async function runCommand(options: CommandOptions): Promise<CommandOutcome> {
  const { signal, clock, timeoutMs } = options;
  signal.throwIfAborted();
  const begun = clock.monotonic();
  const shell = startOrExplain(options);
  using limit = deadline(clock, timeoutMs, 'the command');
  const stop = AbortSignal.any([signal, limit.signal]);
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
    timedOut: stop.aborted,
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
const PIPED = `exec > >(trap '' HUP INT TERM; exec "$2" 3>&-) 2>&1
printf '%s\\n' "$!" >&3
export ${MARKER}=$$
exec "$0" -c "$1" bash 3>&-`;
const PLAIN = `exec 2>&1
export ${MARKER}=$$
exec "$0" -c "$1" sh 3>&-`;

function startShell({ command, cwd, environment, clock }: CommandOptions): Shell {
  const path = environment['PATH'] ?? '';
  const bash = findProgram('bash', path);
  const cat = existsSync('/proc/self/stat') ? findProgram('cat', path) : undefined;
  const shell = bash ?? '/bin/sh';
  const script = bash === undefined || cat === undefined ? PLAIN : PIPED;
  const child = spawn(shell, ['-c', script, shell, command, cat ?? ''], {
    cwd,
    env: environment,
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

function findProgram(name: string, path: string): string | undefined {
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

/** Keeps the beginning and the end of an output in fixed memory. */
class OutputEnds {
  bytes = 0;
  lastAt = 0;
  readonly #clock: Clock;
  readonly #head = Buffer.alloc(HEAD_BYTES);
  readonly #tail = Buffer.alloc(TAIL_BYTES);
  #tailLength = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(chunk: Buffer): void {
    const taken = this.bytes < HEAD_BYTES ? chunk.copy(this.#head, this.bytes) : 0;
    this.bytes += chunk.length;
    this.lastAt = this.#clock.monotonic();
    const rest = chunk.subarray(Math.max(taken, chunk.length - TAIL_BYTES));
    const kept = Math.min(this.#tailLength, TAIL_BYTES - rest.length);
    this.#tail.copyWithin(0, this.#tailLength - kept, this.#tailLength);
    rest.copy(this.#tail, kept);
    this.#tailLength = kept + rest.length;
  }

  text(): { readonly output: string; readonly truncated: boolean } {
    const head = this.#head.subarray(0, Math.min(this.bytes, HEAD_BYTES));
    const tail = this.#tail.subarray(0, this.#tailLength);
    const gap = this.bytes > head.length + tail.length;
    const whole = gap ? undefined : printable(Buffer.concat([head, tail]));
    if (whole !== undefined && whole.length <= HEAD_CHARS + TAIL_CHARS) return { output: whole, truncated: false };
    const first = cut(whole ?? printable(head), HEAD_CHARS);
    const last = cutStart(whole ?? printable(tail), TAIL_CHARS);
    const note = `[… the middle of ${this.bytes} bytes is left out here; write the output to a file and read parts of it to see more …]`;
    return { output: `${first}\n\n${note}\n\n${last}`, truncated: true };
  }
}

/** UTF-8 with U+FFFD for what is none; control characters but line ends and tabs as `\x1b`. */
function printable(bytes: Buffer): string {
  return bytes
    .toString('utf8')
    .replaceAll('\r\n', '\n')
    .replace(
      /[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/gu,
      (character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`,
    );
}
