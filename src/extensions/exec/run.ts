import {
  type CommandReach,
  type Enclosure,
  type Exceeded,
  LEFTOVER_NOTE,
  type Program,
  type RunOptions,
} from '../../core/api-commands.ts';
import { type EnclosedProcess, runEnclosed } from '../../core/api-sandbox.ts';
import { type Executed, escapeControlChars } from '../../core/api-tools.ts';
import { type Clock, deadline, oneLine, sentences } from '../../core/api.ts';
import { CommandOutput, type OutputText } from './output.ts';

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

/** What might end a command. */
export interface Bounds extends CommandLimits {
  readonly seconds: number;
}

/** A command with what encloses it. */
export type ProgramCall = Pick<Program, 'command' | 'environment'> & Enclosure & Pick<RunOptions, 'view'>;

export interface CommandOptions extends Pick<RunOptions, 'mark' | 'permit'> {
  readonly program: ProgramCall;
  readonly cwd: string;
  /** Takes what it writes. @default the ends are kept */
  readonly output?: CommandOutput;
  readonly bounds: Bounds;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Is handed its standard input as soon as it runs. @default nothing is on it */
  readonly onStart?: (input: EnclosedProcess['stdin']) => void;
}

export interface CommandOutcome extends OutputText {
  /** Null when a signal ended the shell. */
  readonly exitCode: number | null;
  /** It did not end well. */
  readonly isFailed: boolean;
  /** A limit or a signal ended it. */
  readonly wasEnded: boolean;
  /** False: a process that it started may still run. */
  readonly isClean: boolean;
  /** What is to be said of its end beside its exit code; sentences. */
  readonly notes: readonly string[];
  readonly bytes: number;
  readonly durationMs: number;
}

/**
 * Runs a command. When it settles nothing that the command started runs any more. Rejects with the signal's reason when
 * aborted, once all is ended, and with an `AppError` when it could not be started.
 */
export async function runCommand(options: CommandOptions): Promise<CommandOutcome> {
  const { program, cwd, signal, clock, bounds, onStart, mark, permit } = options;
  signal.throwIfAborted();
  const begun = clock.monotonic();
  const { command, environment, ...enclosure } = program;
  const input = onStart !== undefined;
  const running = runEnclosed(
    { command, cwd, environment },
    { ...enclosure, limits: bounds, input, isCommand: true, mark, permit, clock },
  );
  const { output = new CommandOutput() } = options;
  let isTooMuch = false;
  for (const stream of ['stdout', 'stderr'] as const) {
    running[stream].on('data', (bytes: Buffer) => {
      const busy = output.add(stream, bytes);
      if (!isTooMuch && output.bytes > bounds.outputBytes) {
        isTooMuch = true;
        void running.end();
      }
      if (busy === undefined) return;
      for (const pipe of [running.stdout, running.stderr]) pipe.pause();
      void busy.then(() => [running.stdout, running.stderr].forEach((pipe) => pipe.resume()));
    });
  }
  onStart?.(running.stdin);
  using limit = deadline(clock, bounds.seconds * 1000, 'the command');
  const onAbort = (): void => void running.end();
  const stop = AbortSignal.any([signal, limit.signal]);
  stop.addEventListener('abort', onAbort, { once: true });
  try {
    const { code, signal: name, exceeded, isClean, hasLeft } = await running.exit;
    signal.throwIfAborted();
    if (hasLeft) void output.add('stdout', Buffer.from(`[${LEFTOVER_NOTE}]\n`));
    const early = limit.signal.aborted ? 'seconds' : isTooMuch ? 'outputBytes' : exceeded;
    const ended = early === null && name !== null ? [`The command was ended by the signal ${name}.`] : [];
    return {
      exitCode: code,
      isFailed: code !== 0 || early !== null,
      wasEnded: code === null || early !== null,
      isClean,
      notes: [
        ...(early === null ? ended : [whyEnded(early, bounds, program.view !== undefined)]),
        ...(isClean ? [] : ['A process that it started could not be stopped and may still run.']),
      ],
      ...output.text(),
      bytes: output.bytes,
      durationMs: Math.round(clock.monotonic() - begun),
    };
  } finally {
    stop.removeEventListener('abort', onAbort);
    running.stdin?.destroy();
  }
}

/** Characters of a command's last line. */
const LONGEST_LAST = 160;

/** What programs say when they want to ask a person or show them an editor. */
const ASKS_PERSON =
  /terminal prompts disabled|could not read (?:Username|Password)|terminal is required|no tty present|must be run from a terminal|due to empty commit message|not (?:from|to) a terminal|not a (?:tty|terminal)|opening terminal|Host key verification failed|Permission denied \([\w,-]*password/iu;
const NOBODY_NOTE =
  'There is no terminal and standard input is empty, so no editor, pager or password prompt can open. Give what it would ask for in arguments or files, e.g. git commit -m "…".';

/** What the model reads of a command that has ended; `notes`: what else is to be said. `reach`: how far it reached. */
export function commandResultOf(
  command: string,
  outcome: CommandOutcome,
  reach: CommandReach,
  notes: readonly string[] = [],
): Executed {
  const { exitCode, isFailed, durationMs, truncated, bytes, output, lastLine } = outcome;
  const own = [...outcome.notes, ...(isFailed && ASKS_PERSON.test(output) ? [NOBODY_NOTE] : [])];
  return {
    title: oneLine(`ran ${escapeControlChars(command)}`, 80),
    output: withNotes(output, [...own, ...notes]),
    metadata: { exitCode, durationMs, truncated, bytes },
    ...(isFailed ? { isError: true, failure: failureOf(lastLine, own, reach) } : {}),
  };
}

/** Why a command did not end well, for people: its last words, and what enclosed it. */
function failureOf(last: string, notes: readonly string[], reach: CommandReach): string {
  const inside = reach === 'network' ? '' : ' and there is no internet';
  return sentences(
    last === '' ? '' : `It said last: “${oneLine(last, LONGEST_LAST)}”.`,
    ...notes,
    reach === 'anywhere' ? '' : `It ran in the sandbox, where only the workspace can be written${inside}.`,
  );
}

/** An output with sentences of the program's own below it, each in brackets. */
export function withNotes(output: string, notes: readonly string[]): string {
  const separator = output === '' || output.endsWith('\n') || notes.length === 0 ? '' : '\n';
  return output + separator + notes.map((note) => `[${note}]`).join('\n');
}

function whyEnded(
  limit: Exceeded | 'outputBytes' | 'seconds',
  { processes, outputBytes, seconds }: Bounds,
  isOnView: boolean,
): string {
  switch (limit) {
    case 'seconds':
      return `The command was ended after ${seconds} s, its time limit, with all processes that it had started.`;
    case 'processes':
      return `The command was ended, with all processes that it had started, because more than ${processes} processes ran.`;
    case 'outputBytes':
      return `The command was ended because it wrote more than ${Math.round(outputBytes / 1024 ** 2)} MiB of output.`;
    case 'memory':
      return 'The command was ended because it used too much memory.';
    case 'freeBytes':
      return `The command was ended because the disk was almost full.${isOnView ? '' : ' What it wrote is still there.'}`;
  }
}
