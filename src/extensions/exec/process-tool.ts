import * as z from 'zod';
import {
  type EffectTarget,
  type Executed,
  type Plan,
  type Planned,
  type Tool,
  defineTool,
  errorResult,
  escapeControlChars,
  showsInGroup,
} from '../../core/api-tools.ts';
import { type Clock, oneLine, sentences, sleep } from '../../core/api.ts';
import type { BackgroundProcess } from './background-process.ts';
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
      const all = options.processes.of(call.sessionKey);
      const process = all.find((one) => one.id === id);
      const about = targetsOf(params, process);
      if (action === 'list') return { about, run: async () => listOf(all) };
      const reaches = showsInGroup(escapeControlChars(`the output of ${id}`));
      if (process === undefined) {
        const run = async (): Promise<Executed> => errorResult(NAME, unknown(params, all));
        return { about, ...(action === 'write' ? {} : { reaches }), run };
      }
      if (action === 'poll') return { about, reaches, run: (signal) => poll(process, params, signal, options) };
      if (action === 'kill') return { about, reaches, run: () => kill(process, options) };
      const run = (): Promise<Executed> => write(process, params, conversation.taint.untrusted);
      return {
        about,
        run,
        ...(process.end === null ? judgedWrite(params, process, conversation.taint.untrusted) : {}),
      };
    },
  });
}

/** To look at a command that is over tells what became of it. */
function targetsOf({ action, id = '' }: Params, process: BackgroundProcess | undefined): readonly EffectTarget[] {
  if (action === 'write' || action === 'kill') return [{ kind: 'process', target: `${action} ${id}` }];
  return action !== 'poll' || process?.end == null ? [] : aboutCommand(process.command);
}

async function kill(process: BackgroundProcess, { processes }: ProcessToolOptions): Promise<Executed> {
  const wasOver = process.end !== null;
  await (wasOver ? processes.seen(process) : processes.kill(process));
  return await shown(process, `${wasOver ? 'already over' : 'ended'}: ${name(process)}`, [-LAST_CHARS, LAST_CHARS]);
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
  const result = await shown(process, `polled ${name(process)}`, [offset, pageChars]);
  if (result.metadata?.['state'] === 'over') await processes.seen(process);
  return result;
}

async function shown(
  process: BackgroundProcess,
  title: string,
  page: Parameters<BackgroundProcess['page']>,
): Promise<Executed> {
  const { id, end } = process;
  // What it wrote before its end is all there is.
  if (end !== null) await process.done;
  const { text, from, next, more, dropped, newest } = await process.page(...page);
  const { durationMs, bits, file } = process;
  const notes = [
    ...(more > 0 ? [`${more} more bytes of output follow: use the action poll again.`] : []),
    ...(newest === '' ? [] : [`${dropped} more bytes were not kept; the newest of them: ${newest}`]),
    ...(end?.notes ?? ['The command is still running.']),
  ];
  const state = end === null ? 'running' : 'over';
  return {
    title,
    output: withNotes(text, notes),
    metadata: {
      process: id,
      state,
      exitCode: end?.exitCode ?? null,
      from,
      next,
      bytes: file.bytes,
      durationMs,
      ...(more > 0 || from > 0 ? { truncated: true } : {}),
    },
    ...(end?.isFailed === true ? { isError: true } : {}),
    ...bits,
  };
}

async function write(process: BackgroundProcess, { text }: Params, isTainted: boolean): Promise<Executed> {
  const title = `write to ${name(process)}`;
  const nothing = (why: string): Executed => errorResult(title, `Nothing was written: ${why}`);
  if (text === undefined) return nothing('the action write needs text.');
  if (process.end !== null) return nothing('the command has ended. Use the action poll to see how.');
  if (isTainted) process.taint();
  if (text === '') {
    process.closeInput();
    return { title, output: 'The input of the command is closed now.', metadata: { process: process.id } };
  }
  const line = text.endsWith('\n') ? text : `${text}\n`;
  const became = await process.write(line);
  if (became === 'busy') return nothing('the command has not read what was written before. Try again later.');
  if (became === 'closed') return nothing('the input of the command is closed.');
  return {
    title,
    output: 'The line was written. Use the action poll to see what the command makes of it.',
    metadata: { process: process.id, bytes: Buffer.byteLength(line) },
  };
}

function listOf(all: readonly BackgroundProcess[]): Executed {
  const lines = all.map(({ id, durationMs, file: { bytes }, command: { command }, end }) => {
    const state = end === null ? 'running' : end.isFailed ? 'failed' : 'over';
    return `${id}  ${state}  ${Math.round(durationMs / 1000)} s  ${bytes} bytes  ${oneLine(escapeControlChars(command), 120)}`;
  });
  return {
    title: 'listed commands in the background',
    output: lines.length === 0 ? 'There are none.' : lines.join('\n'),
    metadata: { running: all.filter(({ end }) => end === null).length },
    // A bit of any is one of the list.
    ...Object.assign({}, ...all.map(({ bits }) => bits)),
  };
}

/** What a line to a running command needs: it may be a command itself, or go where the first one needed a yes. */
function judgedWrite(
  { text = '' }: Params,
  { id, command: { command, check, asks, reach } }: BackgroundProcess,
  isTainted: boolean,
): Partial<Plan> | { readonly denied: string } {
  const guarded = TAKES_COMMANDS.test(command) ? check(text) : { decision: 'allow' as const };
  if (guarded.decision === 'deny') return { denied: guarded.reason };
  const request = {
    title: 'Write to a command in the background',
    detail: `# to ${id}: ${escapeControlChars(command)}\n${escapeControlChars(text)}`,
  };
  const reason = sentences(
    guarded.decision === 'ask' ? guarded.reason : '',
    asks ? 'The command that reads it needed your approval.' : '',
    isTainted
      ? 'This conversation contains text from others, and what the command does with it takes effect before anyone can check it.'
      : '',
  );
  return {
    ...(reach === 'workspace' ? {} : { reaches: { action: { kind: 'networked-exec' }, ...request } }),
    ...(reason === '' ? {} : { asks: { ...request, reason } }),
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
