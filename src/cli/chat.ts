import { existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { text as readAll } from 'node:stream/consumers';
import type { AssistantPort, AttachedMessage, SendInput, TurnSummary } from '../gateway/assistant-port.ts';
import { deadline } from '../util/clock.ts';
import { plural } from '../util/text.ts';
import type { CliContext } from './context.ts';
import { listFlag, numberFlag, textFlag, usageError } from './flags.ts';
import { openAssistant } from './open.ts';
import { json, printable } from './printable.ts';
import { talk } from './talk.ts';

/** `assistant chat`: one message and its answer, one message per line of stdin, or a conversation. */
export async function chatCommand(flags: Readonly<Record<string, unknown>>, context: CliContext): Promise<number> {
  const session = textFlag(flags, 'session') ?? 'main';
  const model = textFlag(flags, 'model');
  const seconds = numberFlag(flags, 'timeout');
  const images = listFlag(flags, 'image').map(imagePath);
  const message = await messageOf(textFlag(flags, 'message'), context);
  const isJson = flags['json'] === true;
  const isTerminal = context.stdin.isTTY === true && context.stdout.isTTY === true;
  await using assistant = await openAssistant(context, textFlag(flags, 'home'));
  const base = { session, ...(model === undefined ? {} : { model }) };
  const say = (text: string, withImages: readonly string[]): Promise<number> =>
    ask(
      context,
      assistant.port,
      { ...base, text, ...(withImages.length === 0 ? {} : { images: withImages }) },
      { isJson, seconds },
    );
  if (message !== undefined) return await say(message, images);
  if (isTerminal) {
    const ended = new AbortController();
    using _signals = context.onSignal(() => ended.abort());
    context.stdout.write(await greeting(assistant.port, assistant.attached, session));
    return await talk(context, { assistant: assistant.port, session, model, images, signal: ended.signal });
  }
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

/** The first lines of a conversation. */
export async function greeting(assistant: AssistantPort, attached: boolean, session: string): Promise<string> {
  const { model } = await assistant.info();
  const where = attached ? 'the running gateway' : 'this terminal';
  const which = session === 'main' ? '' : `, conversation "${printable(session)}"`;
  return `Talking with ${printable(model)} in ${where}${which}. /help shows commands, Ctrl-C stops a turn, Ctrl-D ends.\n`;
}

const INTERRUPTED = 130;

/** Sends one message and prints the answer: stdout for the answer, stderr for everything else. */
async function ask(
  context: CliContext,
  assistant: AssistantPort,
  input: SendInput,
  options: { readonly isJson: boolean; readonly seconds: number | undefined },
): Promise<number> {
  const interrupted = new AbortController();
  using _signals = context.onSignal(() => interrupted.abort());
  using limit = options.seconds === undefined ? undefined : deadline(context.clock, options.seconds * 1000, 'the turn');
  const signal = limit === undefined ? interrupted.signal : AbortSignal.any([interrupted.signal, limit.signal]);
  const turns = new Set<string>();
  const arrived: AttachedMessage[] = [];
  using _attached = assistant.attach(input.session, (message) => arrived.push(message));
  const summary = await assistant.send(input, { signal, onEvent: (event) => turns.add(event.turnId) });
  // What waited for somebody to come: it is delivered now, so it must be seen.
  for (const { text, turnId } of arrived) {
    const isOwn = (turnId !== undefined && turns.has(turnId)) || text.trim() === summary.text.trim();
    if (!isOwn) context.stderr.write(`(earlier) ${printable(text)}\n`);
  }
  if (options.isJson) context.stdout.write(`${json(report(summary), 0)}\n`);
  else if (summary.text !== '') context.stdout.write(`${printable(summary.text)}\n`);
  if (limit?.signal.aborted === true)
    context.stderr.write(`Stopped after ${plural(options.seconds ?? 0, 'second')}.\n`);
  if (interrupted.signal.aborted) return INTERRUPTED;
  return isFailure(summary) ? 1 : 0;
}

function report({ text, isError, usage, costUsd, durationMs, model }: TurnSummary): Partial<TurnSummary> {
  return { text, isError, usage, costUsd, durationMs, model };
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
