import {
  runEnclosed,
  type EnclosedProcess,
  type Enclosure,
  type Exceeded as ExceededLimit,
  type Program,
  type RunOptions,
} from '../../security/enclosure/enclosure.ts';
import { deadline, type Clock } from '../../util/clock.ts';
import { OutputEnds, type OutputText } from './output-ends.ts';
import type { Piece } from './output-order.ts';

/** What ends a command before its time is over. */
export interface CommandLimits {
  /** Processes at once. */
  readonly processes: number;
  /** Bytes that it may write to its output. */
  readonly outputBytes: number;
  /** Bytes that stay free on the disks of its folder and of `/tmp`; of a fuller disk half of what is left. */
  readonly freeBytes: number;
}

export const DEFAULT_COMMAND_LIMITS: CommandLimits = {
  processes: 512,
  outputBytes: 1024 ** 3,
  freeBytes: 512 * 1024 ** 2,
};

/** The limit that ended a command. */
export type Exceeded = ExceededLimit | 'outputBytes';

/** A command with what encloses it. */
export type ProgramCall = Pick<Program, 'command' | 'environment'> & Enclosure;

/** A command that was started. */
export interface RunningCommand {
  readonly input: EnclosedProcess['stdin'];
  readonly output: OutputEnds;
}

export interface CommandOptions extends Pick<RunOptions, 'mark' | 'permit'> {
  readonly program: ProgramCall;
  readonly cwd: string;
  /** Told all that it writes; while it is busy nothing more is read. @default the ends are kept */
  readonly sink?: (piece: Piece) => Promise<void> | undefined;
  /** @default no one looks */
  readonly limits?: CommandLimits;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Is handed it as soon as it runs, with a pipe as standard input. @default nothing is on its input */
  readonly onStart?: (command: RunningCommand) => void;
}

export interface CommandOutcome extends OutputText {
  /** Null when a signal ended the shell. */
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly timedOut: boolean;
  /** The limit that it was ended for. */
  readonly exceeded: Exceeded | null;
  /** False when something could not be ended. */
  readonly clean: boolean;
  readonly bytes: number;
  readonly durationMs: number;
}

/**
 * Runs a command. When it settles nothing that the command started runs any more. Rejects with the signal's reason when
 * aborted, once all is ended, and with an `AppError` when it could not be started.
 */
export async function runCommand(options: CommandOptions): Promise<CommandOutcome> {
  const { program, cwd, signal, clock, timeoutMs, onStart, limits, sink, mark, permit } = options;
  signal.throwIfAborted();
  const begun = clock.monotonic();
  const { command, environment, ...enclosure } = program;
  const input = onStart !== undefined;
  const running = runEnclosed(
    { command, cwd, environment },
    { ...enclosure, limits, input, isCommand: true, mark, permit, clock },
  );
  const output = new OutputEnds(clock, sink);
  let isTooMuch = false;
  for (const stream of ['stdout', 'stderr'] as const) {
    running[stream].on('data', (bytes: Buffer) => {
      const busy = output.add({ stream, bytes });
      if (!isTooMuch && output.bytes > (limits?.outputBytes ?? Infinity)) {
        isTooMuch = true;
        void running.end();
      }
      if (busy === undefined) return;
      for (const pipe of [running.stdout, running.stderr]) pipe.pause();
      void busy.then(() => [running.stdout, running.stderr].forEach((pipe) => pipe.resume()));
    });
  }
  onStart?.({ input: running.stdin, output });
  using limit = deadline(clock, timeoutMs, 'the command');
  const onAbort = (): void => void running.end();
  const stop = AbortSignal.any([signal, limit.signal]);
  stop.addEventListener('abort', onAbort, { once: true });
  try {
    const { code, signal: name, exceeded, isClean } = await running.exit;
    signal.throwIfAborted();
    return {
      exitCode: code,
      signal: name,
      timedOut: limit.signal.aborted,
      exceeded: limit.signal.aborted ? null : isTooMuch ? 'outputBytes' : exceeded,
      clean: isClean,
      ...output.text(),
      bytes: output.bytes,
      durationMs: Math.round(clock.monotonic() - begun),
    };
  } finally {
    stop.removeEventListener('abort', onAbort);
    output.flush();
    running.stdin?.destroy();
  }
}
