import { deadline, raceAbort, sleep, type Clock } from '../../util/clock.ts';
import type { OutputText } from './output-ends.ts';
import { startFailure, startShell, type Exit, type Shell, type ShellOptions } from './shell.ts';
import { watchLimits, type CommandLimits, type Exceeded } from './limit-watch.ts';

const TERM_GRACE_MS = 1_000;
/** How long what outlives the shell may take to end by itself. */
const FINISH_ROUNDS = 15;
const FINISH_GRACE_MS = 60;
const DRAIN_QUIET_MS = 1_000;
const DRAIN_MS = 2_000;
const POLL_MS = 10;

export interface CommandOptions extends Omit<ShellOptions, 'input'> {
  /** @default no one looks */
  readonly limits?: CommandLimits;
  /** How often somebody looks. @default 250 */
  readonly lookEveryMs?: number;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Is handed it as soon as it runs, with a pipe as standard input. @default nothing is on its input */
  readonly onStart?: (shell: Pick<Shell, 'input' | 'output'>) => void;
}

export interface CommandOutcome extends OutputText {
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
  readonly bytes: number;
  readonly durationMs: number;
}

/**
 * Runs a program in a session of its own. When it settles nothing that the command started runs any more, as far as it
 * can be found. Rejects with the signal's reason when aborted, once all is ended, and with an `AppError` when no shell
 * could be started.
 */
export async function runCommand(options: CommandOptions): Promise<CommandOutcome> {
  const { signal, clock, timeoutMs, onStart } = options;
  signal.throwIfAborted();
  const begun = clock.monotonic();
  const shell = startShell({ ...options, input: onStart !== undefined });
  onStart?.(shell);
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

/** After the shell's end: what it left running gets a moment, then is ended. */
async function finish(shell: Shell, clock: Clock): Promise<{ background: boolean; clean: boolean }> {
  let left = shell.tree.alive().length;
  for (let round = 0; (left > 0 || shell.tree.isUnclear) && round < FINISH_ROUNDS; round += 1) {
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
