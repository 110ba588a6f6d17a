import { existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { text as readAll } from 'node:stream/consumers';
import { type CliContext, openAssistant, terminalText, type OutputFlags, usageError } from '../../core/api-cli.ts';
import {
  type AssistantPort,
  type AttachedMessage,
  type OutboundEvent,
  type SendInput,
  type TurnSummary,
  jsonText,
  lookOf,
} from '../../core/api-terminal.ts';
import { deadline, oneLine, plural } from '../../core/api.ts';
import { renderTerminal } from './markup.ts';
import { converse } from './converse.ts';
import { waitingSign } from './waiting-sign.ts';

interface ChatFlags extends OutputFlags {
  readonly message: string | undefined;
  /** Paths, as they were given. */
  readonly image: readonly string[];
  readonly model: string | undefined;
  readonly session: string;
  /** Lines only. */
  readonly plain: boolean;
  /** Seconds. */
  readonly timeout: number | undefined;
}

/** `assistant chat`: one message and its answer, one message per line of stdin, or a conversation. */
export async function chatCommand(flags: ChatFlags, context: CliContext): Promise<number> {
  const { session, model, timeout: seconds, json: isJson, plain, home } = flags;
  const images = flags.image.map(imagePath);
  const message = await messageOf(flags.message, context);
  const isTerminal = context.stdin.isTTY === true && context.stdout.isTTY === true;
  if (message === undefined && isTerminal) return await converse({ ...flags, image: images }, context);
  await using assistant = await openAssistant(context, home, { log: 'configured' });
  const say = (text: string, withImages: readonly string[]): Promise<number> =>
    ask(
      context,
      assistant.port,
      { text, ...(model === undefined ? {} : { model }), ...(withImages.length === 0 ? {} : { images: withImages }) },
      { session, isJson, plain, seconds },
    );
  if (message !== undefined) return await say(message, images);
  let code = 0;
  let next = images;
  for await (const line of createInterface({ input: context.stdin })) {
    if (line.trim() === '') continue;
    code = Math.max(code, await say(line, next));
    next = [];
    if (code === INTERRUPTED) break;
  }
  return code;
}

const INTERRUPTED = 130;
const DEFAULT_COLUMNS = 80;
/** Characters of why something was refused. */
const LONGEST_REFUSAL = 600;

/** Sends one message and prints the answer: stdout for the answer, stderr for everything else. */
async function ask(
  context: CliContext,
  assistant: AssistantPort,
  input: SendInput,
  {
    session,
    isJson,
    plain,
    seconds,
  }: {
    readonly session: string;
    readonly isJson: boolean;
    readonly plain: boolean;
    readonly seconds: number | undefined;
  },
): Promise<number> {
  const interrupted = new AbortController();
  using _signals = context.onSignal(() => interrupted.abort());
  using limit = seconds === undefined ? undefined : deadline(context.clock, seconds * 1000, 'the turn');
  const signal = limit === undefined ? interrupted.signal : AbortSignal.any([interrupted.signal, limit.signal]);
  const turns = new Set<string>();
  const arrived: AttachedMessage[] = [];
  const refused: string[] = [];
  const tools: ToolEnd[] = [];
  using sign = waitingSign(context, { plain });
  using conversation = assistant.open(session, {
    onMessage: (message) => arrived.push(message),
    onEvent: (event) => {
      turns.add(event.turnId);
      sign.event(event);
      if (event.type !== 'tool-end') return;
      tools.push(event);
      if (event.refused !== undefined) refused.push(`${event.title}: ${event.refused}`);
    },
  });
  const ended = await conversation.send(input, { signal });
  sign[Symbol.dispose]();
  const isLate = limit?.signal.aborted === true && !interrupted.signal.aborted && ended.outcome === 'stopped';
  const late = `Timed out: there was no answer within ${plural(seconds ?? 0, 'second')}. A higher --timeout gives it longer.`;
  const summary = isLate ? { ...ended, text: late, isError: true } : ended;
  // What waited for somebody to come: it is delivered now, so it must be seen.
  for (const { text, turnId, from } of arrived) {
    const isOwn = (turnId !== undefined && turns.has(turnId)) || text.trim() === summary.text.trim();
    if (!isOwn)
      context.stderr.write(
        `(earlier${from === undefined ? '' : `, from ${terminalText(from)}`}) ${terminalText(text)}\n`,
      );
  }
  for (const why of refused) context.stderr.write(`✗ ${oneLine(terminalText(why), LONGEST_REFUSAL)}\n`);
  if (isJson)
    context.stdout.write(`${jsonText(report(summary, { session, turnIds: [...turns], tools, refused }), 0)}\n`);
  else if (summary.text !== '') context.stdout.write(`${answerText(summary.text, context, plain)}\n`);
  if (interrupted.signal.aborted) return INTERRUPTED;
  return isFailure(summary) || refused.length > 0 ? 1 : 0;
}

/** Markdown as it looks on a terminal; elsewhere as it is, for what reads it. */
function answerText(text: string, { stdout, env }: CliContext, plain: boolean): string {
  if (stdout.isTTY !== true) return terminalText(text);
  return renderTerminal(text, lookOf(env, { columns: stdout.columns ?? DEFAULT_COLUMNS, plain })).join('\n');
}

type ToolEnd = Extract<OutboundEvent, { readonly type: 'tool-end' }>;

interface Observed {
  readonly session: string;
  /** The turns that answered, oldest first; the last one's id is what `why` and `trace` take. */
  readonly turnIds: readonly string[];
  readonly tools: readonly ToolEnd[];
  readonly refused: readonly string[];
}

/** What `--json` prints. `refused` is left out when nothing was. */
function report(summary: TurnSummary, { session, turnIds, tools, refused }: Observed): object {
  const { text, isError, errorKind, outcome, usage, costUsd, durationMs, model } = summary;
  const toolCalls = tools.map(({ callId: id, name, title, isError: failed, problem, refused: why }) => ({
    id,
    name,
    title,
    isError: failed,
    ...(problem === undefined ? {} : { problem }),
    ...(why === undefined ? {} : { refused: why }),
  }));
  return {
    session,
    turnId: turnIds.at(-1) ?? null,
    text,
    outcome,
    isError,
    errorKind,
    toolCalls,
    usage,
    costUsd,
    durationMs,
    model,
    ...(refused.length === 0 ? {} : { refused }),
  };
}

function isFailure({ isError, outcome }: TurnSummary): boolean {
  return isError || outcome === 'failed' || outcome === 'stopped';
}

async function messageOf(flag: string | undefined, context: CliContext): Promise<string | undefined> {
  if (flag === undefined) return undefined;
  const message = flag === '-' ? (await readAll(context.stdin)).trim() : flag;
  if (message.trim() === '') throw usageError('The message is empty. Say something with -m "…".');
  return message;
}

function imagePath(path: string): string {
  const absolute = resolve(path);
  if (existsSync(absolute) && statSync(absolute).isFile()) return absolute;
  throw usageError(`There is no image at ${absolute}. Correct the path after --image.`);
}
