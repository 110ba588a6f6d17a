import * as z from 'zod';
import type { Usage } from '../../util/token-usage.ts';
import { isRefusalReason } from '../content-refusals.ts';
import { brokenStream, malformedAnswer, type ErrorContext } from '../errors.ts';
import type { ModelEvent, ModelResponse, ModelToolCall, StopReason } from '../provider.ts';
import { OllamaError } from './client.ts';

const count = z.int().nonnegative().nullish().catch(null);

const line = z.object({
  model: z.string().optional(),
  message: z
    .object({
      content: z.string().nullish(),
      thinking: z.string().nullish(),
      tool_calls: z
        .array(
          z.object({
            id: z.string().nullish(),
            function: z.object({ name: z.string().nullish(), arguments: z.unknown() }),
          }),
        )
        .nullish(),
    })
    .nullish(),
  done: z.boolean().nullish(),
  done_reason: z.string().nullish(),
  prompt_eval_count: count,
  eval_count: count,
  error: z.string().nullish(),
  status: z.int().nullish().catch(null),
});

type Line = z.output<typeof line>;

/** The model was loaded or unloaded, and nothing was written. */
const NO_ANSWER = new Set(['load', 'unload']);

/**
 * Reads the lines of `POST /api/chat`. A stream without a line that is `done` is broken; what the stream throws, and an
 * error that the server sends in its middle, is the caller's.
 */
export async function* fromOllamaEvents(
  lines: AsyncIterable<unknown>,
  context: ErrorContext,
): AsyncGenerator<ModelEvent> {
  const answer = new Answer();
  for await (const raw of lines) {
    const { data } = line.safeParse(raw);
    if (data === undefined) {
      yield malformedAnswer(context, 'a line of the stream has another form');
      return;
    }
    if (data.error != null) throw new OllamaError(data.error, data.status ?? undefined);
    yield* answer.take(data);
    if (data.done !== true) continue;
    yield* answer.end(data, context);
    return;
  }
  yield brokenStream(context);
}

class Answer {
  readonly #calls: ModelToolCall[] = [];
  #text = '';
  #thinking = '';

  *take({ message }: Line): Generator<ModelEvent> {
    const thinking = message?.thinking ?? '';
    if (thinking !== '') {
      this.#thinking += thinking;
      yield { type: 'reasoning-delta', text: thinking };
    }
    const text = message?.content ?? '';
    if (text !== '') {
      this.#text += text;
      yield { type: 'text-delta', text };
    }
    for (const { id, function: called } of message?.tool_calls ?? []) {
      const call = { id: id ?? '', name: called.name ?? '', arguments: argumentsText(called.arguments) };
      const index = this.#calls.push(call) - 1;
      yield { type: 'tool-call-delta', index, name: call.name, argumentsDelta: call.arguments };
    }
  }

  *end(last: Line, context: ErrorContext): Generator<ModelEvent> {
    if (NO_ANSWER.has(last.done_reason ?? '')) {
      yield malformedAnswer(context, `the model was only ${last.done_reason}ed, and did not answer`);
      return;
    }
    if (this.#calls.some(({ name }) => name === '')) {
      yield malformedAnswer(context, 'a tool call without a name');
      return;
    }
    for (const [index, call] of this.#calls.entries()) yield { type: 'tool-call', index, call };
    const usage = toUsage(last);
    if (usage !== null) yield { type: 'usage', usage };
    const stopReason = toStopReason(last.done_reason, this.#calls.length);
    const model = last.model ?? context.model;
    yield { type: 'end', stopReason, response: { content: this.#content(context), model, usage } };
  }

  #content({ provider, model }: ErrorContext): ModelResponse['content'] {
    const text = this.#thinking;
    return [
      ...(text === '' ? [] : [{ type: 'reasoning' as const, provider, model, text, data: { thinking: text } }]),
      ...(this.#text === '' ? [] : [{ type: 'text' as const, text: this.#text }]),
      ...this.#calls.map((call) => ({ type: 'tool-call' as const, ...call })),
    ];
  }
}

/** Ollama sends an object. */
function argumentsText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? {});
}

/** `prompt_eval_count` is the whole prompt, also what was cached of it. Null when the server counted nothing. */
function toUsage({ prompt_eval_count: input, eval_count: output }: Line): Usage | null {
  if (input == null && output == null) return null;
  return { input: input ?? 0, cached: 0, cacheWrite: 0, output: output ?? 0, reasoning: 0 };
}

function toStopReason(reason: string | null | undefined, calls: number): StopReason {
  if (reason === 'length') return 'length';
  if (isRefusalReason(reason)) return 'refusal';
  return calls > 0 ? 'tool-calls' : 'stop';
}
