import * as z from 'zod';
import { escapeControlChars } from '../../security/text/control-characters.ts';
import { sleep, type Clock } from '../../util/clock.ts';
import { oneLine } from '../../util/text.ts';
import type { ResultBits } from '../../files/origins.ts';
import { errorResult } from '../registry/result.ts';
import {
  defineTool,
  showsInGroup,
  type ApprovalRequest,
  type EffectTarget,
  type Executed,
  type Plan,
  type Planned,
  type Tool,
} from '../tool.ts';
import type { BackgroundProcess, OutputPage } from './background-process.ts';
import type { BackgroundProcesses } from './background.ts';
import { aboutCommand, OUTPUT_SOURCE } from './exec.ts';
import { withNotes } from './run.ts';

export interface ProcessToolOptions {
  readonly processes: Pick<BackgroundProcesses, 'of' | 'seen' | 'kill'>;
  /** Characters of output in one answer. */
  readonly pageChars: number;
  readonly clock: Clock;
}

const LONGEST_WAIT_SECONDS = 60;
const LONGEST_TEXT = 32_000;
/** Characters of what is shown when one is ended. */
const LAST_CHARS = 2_000;
const NAME = 'process';

/** Programs that take what they read for commands. */
const TAKES_COMMANDS = /(?<![\w.-])(?:(?:ba|da|z|k|fi|c|tc)?sh|ssh|su|sudo|docker|podman|xargs|parallel)(?![\w.-])/u;

const parameters = z.object({
  action: z
    .enum(['list', 'poll', 'write', 'kill'])
    .describe(
      'What to do: list shows all with their ids, poll returns new output and the state of one, write sends a line to its input, kill ends it with all that it started and returns its last output.',
    ),
  id: z.string().trim().min(1).optional().describe('Id from exec or list, e.g. k3f9x2ab. Required except for list.'),
  offset: z
    .int()
    .optional()
    .describe(
      'For poll: first byte of the output to return, from the end if negative, e.g. -2000. Default: where the last poll ended.',
    ),
  text: z
    .string()
    .max(LONGEST_TEXT)
    .optional()
    .describe('Required for write: the line, without its line end. An empty string closes the input.'),
  waitSeconds: z
    .number()
    .min(0)
    .max(LONGEST_WAIT_SECONDS)
    .optional()
    .describe(`For poll: seconds to wait for its end, 0 to ${LONGEST_WAIT_SECONDS}. Default: 0.`),
});
type Params = z.infer<typeof parameters>;

/** Looks after commands that `exec` started in the background. None survives the assistant, so all of it can be repeated. */
export function processTool(options: ProcessToolOptions): Tool {
  const { processes } = options;
  return defineTool({
    name: NAME,
    source: OUTPUT_SOURCE,
    description:
      'Look after the commands that exec started in the background here. When one ends by itself, you get a new turn: use waitSeconds only for short waits.',
    parameters,
    effect: 'idempotent',
    role: 'owner',
    plan(params, { call, conversation }): Planned {
      const { action, id = '' } = params;
      const all = processes.of(call.sessionKey);
      const process = all.find((one) => one.id === id);
      const about = targetsOf(params, process);
      if (action === 'list') return { about, run: async () => listOf(all) };
      const shown = showsInGroup(escapeControlChars(`the output of ${id}`));
      if (process === undefined) {
        const reaches = action === 'write' ? undefined : shown;
        return { about, reaches, run: async () => errorResult(NAME, unknown(params, all)) };
      }
      switch (action) {
        case 'poll':
          return { about, reaches: shown, run: (signal) => poll(process, params, signal, options) };
        case 'kill':
          return { about, reaches: shown, run: () => kill(process, options) };
        case 'write': {
          const written: Plan = { about, run: () => write(process, params, conversation.taint.untrusted) };
          return process.end === null ? { ...written, ...judgedWrite(params, process) } : written;
        }
      }
    },
  });
}

async function kill(process: BackgroundProcess, { processes }: ProcessToolOptions): Promise<Executed> {
  const wasOver = process.end !== null;
  await (wasOver ? processes.seen(process) : processes.kill(process));
  const page = await process.page(-LAST_CHARS, LAST_CHARS);
  return shown(process, page, `${wasOver ? 'already over' : 'ended'}: ${name(process)}`);
}

/** To look at a command that is over tells what became of it. */
function targetsOf({ action, id = '' }: Params, process: BackgroundProcess | undefined): readonly EffectTarget[] {
  if (action === 'write' || action === 'kill') return [{ kind: 'process', target: `${action} ${id}` }];
  if (action !== 'poll' || process === undefined || process.end === null) return [];
  return aboutCommand(process.command);
}

async function poll(
  process: BackgroundProcess,
  { offset, waitSeconds = 0 }: Params,
  signal: AbortSignal,
  { processes, clock, pageChars }: ProcessToolOptions,
): Promise<Executed> {
  if (waitSeconds > 0 && process.end === null) {
    await Promise.race([process.done, sleep(clock, waitSeconds * 1000, signal).catch(() => {})]);
    signal.throwIfAborted();
  }
  const isOver = process.end !== null;
  // What it wrote before its end is all there is.
  if (isOver) await process.done;
  const page = await process.page(offset, pageChars);
  if (isOver) await processes.seen(process);
  return shown(process, page, `polled ${name(process)}`, isOver);
}

async function write(process: BackgroundProcess, { text }: Params, isTainted: boolean): Promise<Executed> {
  const title = `write to ${name(process)}`;
  if (text === undefined) return errorResult(title, 'Nothing was written: the action write needs text.');
  if (process.end !== null)
    return errorResult(title, 'Nothing was written: the command has ended. Use the action poll to see how.');
  if (isTainted) await process.taint();
  if (text === '') {
    process.closeInput();
    return { title, output: 'The input of the command is closed now.', metadata: { process: process.id } };
  }
  const line = text.endsWith('\n') ? text : `${text}\n`;
  switch (await process.write(line)) {
    case 'written':
      return {
        title,
        output: 'The line was written. Use the action poll to see what the command makes of it.',
        metadata: { process: process.id, bytes: Buffer.byteLength(line) },
      };
    case 'busy':
      return errorResult(
        title,
        'Nothing was written: the command has not read what was written before. Try again later.',
      );
    case 'closed':
      return errorResult(title, 'Nothing was written: the input of the command is closed.');
  }
}

function shown(process: BackgroundProcess, page: OutputPage, title: string, isOver = process.end !== null): Executed {
  const { id, bytes, durationMs } = process;
  const { from, next, more, dropped, newest } = page;
  const notes = [
    ...(more > 0 ? [`${more} more bytes of output follow: use the action poll again.`] : []),
    ...(newest === '' ? [] : [`${dropped} more bytes were not kept; the newest of them: ${newest}`]),
    ...(isOver ? process.endNotes : ['The command is still running.']),
  ];
  return {
    title,
    output: withNotes(page.text, notes),
    metadata: {
      process: id,
      state: isOver ? 'over' : 'running',
      exitCode: isOver ? process.exitCode : null,
      from,
      next,
      bytes,
      durationMs,
      ...(more > 0 || from > 0 ? { truncated: true } : {}),
    },
    ...(isOver && process.isFailed ? { isError: true } : {}),
    ...process.bits,
  };
}

function listOf(all: readonly BackgroundProcess[]): Executed {
  const lines = all.map((process) => {
    const { id, durationMs, bytes, command, end } = process;
    const state = end === null ? 'running' : process.isFailed ? 'failed' : 'over';
    return `${id}  ${state}  ${Math.round(durationMs / 1000)} s  ${bytes} bytes  ${oneLine(escapeControlChars(command.command), 120)}`;
  });
  const bits = all.map((process) => process.bits);
  return {
    title: 'listed commands in the background',
    output: lines.length === 0 ? 'There are none.' : lines.join('\n'),
    metadata: { running: all.filter(({ end }) => end === null).length },
    ...either(bits),
  };
}

function either(bits: readonly ResultBits[]): ResultBits {
  return {
    ...(bits.some(({ private: isPrivate }) => isPrivate === true) ? { private: true } : {}),
    ...(bits.some(({ untrusted }) => untrusted === true) ? { untrusted: true } : {}),
  };
}

/** What a line to a running command needs: it may be a command itself, or go where the first one needed a yes. */
function judgedWrite(params: Params, process: BackgroundProcess): Partial<Plan> | { readonly denied: string } {
  const { command, check, asks, reach } = process.command;
  const guarded = TAKES_COMMANDS.test(command) ? check(params.text ?? '') : { decision: 'allow' as const };
  if (guarded.decision === 'deny') return { denied: guarded.reason };
  const request = requestFor(params, process);
  const reason = [
    ...(guarded.decision === 'ask' ? [guarded.reason] : []),
    ...(asks ? ['The command that reads it needed a yes.'] : []),
  ].join(' ');
  return {
    ...(reach === 'workspace' ? {} : { reaches: { action: { kind: 'networked-exec' }, ...request } }),
    ...(reason === '' ? {} : { asks: { ...request, reason } }),
  };
}

/** All that it will read, and who reads it. */
function requestFor(
  { text = '' }: Params,
  { id, command }: BackgroundProcess,
): Pick<ApprovalRequest, 'title' | 'detail'> {
  return {
    title: 'Write to a command in the background',
    detail: `# to ${id}: ${escapeControlChars(command.command)}\n${escapeControlChars(text)}`,
  };
}

function name({ id, command }: BackgroundProcess): string {
  return oneLine(`${id} ${escapeControlChars(command.command)}`, 80);
}

function unknown({ id }: Params, all: readonly BackgroundProcess[]): string {
  const there =
    all.length === 0 ? 'There are none here.' : `There are: ${all.map((process) => process.id).join(', ')}.`;
  const what =
    id === undefined
      ? 'This action needs the id of a command.'
      : `There is no command ${JSON.stringify(id.slice(0, 40))} in the background here.`;
  return `${what} ${there}`;
}
