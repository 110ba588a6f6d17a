import * as z from 'zod';
import {
  argumentsText,
  brokenStream,
  type ErrorContext,
  failureIn,
  isLengthReason,
  isRefusalReason,
  malformedAnswer,
  type ModelEvent,
  type ModelResponse,
  type ModelToolCall,
  readUsage,
  type StopReason,
} from '../../core/api-providers.ts';
import { OllamaError } from './client.ts';

const line = z.looseObject({
  model: z.string().optional(),
  message: z
    .object({
      content: z.string().nullish(),
      thinking: z.string().nullish(),
      tool_calls: z
        .array(
          z.object({
            id: z.string().nullish(),
            function: z.object({ name: z.string().nullish(), arguments: z.unknown() }).nullish(),
          }),
        )
        .nullish(),
    })
    .nullish(),
  done: z.boolean().nullish(),
  done_reason: z.string().nullish(),
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
  #dropped = false;
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
      const call = { id: id ?? '', name: called?.name ?? '', arguments: argumentsText(called?.arguments) || '{}' };
      // Nobody can run a call without a name.
      if (call.name === '') {
        this.#dropped = true;
        continue;
      }
      const index = this.#calls.push(call) - 1;
      yield { type: 'tool-call-delta', index, name: call.name, argumentsDelta: call.arguments };
    }
  }

  *end(last: Line, context: ErrorContext): Generator<ModelEvent> {
    if (NO_ANSWER.has(last.done_reason ?? '')) {
      yield malformedAnswer(context, `the model was only ${last.done_reason}ed, and did not answer`);
      return;
    }
    const usage = readUsage(last);
    if (usage !== null) yield { type: 'usage', usage };
    const failure = failureIn(last.done_reason ?? '', context);
    if (failure !== null) {
      yield failure;
      return;
    }
    if (this.#dropped && this.#text === '' && this.#calls.length === 0) {
      yield malformedAnswer(context, 'a tool call without a name');
      return;
    }
    for (const [index, call] of this.#calls.entries()) yield { type: 'tool-call', index, call };
    const stopReason = toStopReason(last.done_reason ?? '', this.#calls.length);
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

function toStopReason(reason: string, calls: number): StopReason {
  if (isLengthReason(reason)) return 'length';
  if (isRefusalReason(reason)) return 'refusal';
  return calls > 0 ? 'tool-calls' : 'stop';
}
