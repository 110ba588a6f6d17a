import type { OpenAI } from 'openai';
import type { Usage } from '../../util/token-usage.ts';
import { isRefusalReason } from '../content-refusals.ts';
import { brokenStream, malformedAnswer, type ErrorContext } from '../errors.ts';
import type { ModelEvent, ModelResponse, ModelToolCall, ReasoningPart, StopReason } from '../provider.ts';

type RawEvent = OpenAI.Responses.ResponseStreamEvent;
type OutputItem = OpenAI.Responses.ResponseOutputItem;
type Final = Partial<OpenAI.Responses.Response>;

interface OpenCall {
  readonly index: number;
  readonly id: string;
  readonly name: string;
  arguments: string;
}

/**
 * Reads a Responses stream. Without `response.completed` or `response.incomplete` it is broken; a failure that the
 * server tells of is thrown for the caller to classify.
 */
export async function* fromResponsesEvents(
  stream: AsyncIterable<RawEvent>,
  context: ErrorContext,
): AsyncGenerator<ModelEvent> {
  const answer = new Answer(context);
  for await (const event of stream) {
    switch (event.type) {
      case 'response.output_text.delta':
      case 'response.refusal.delta':
        if (event.delta !== '') yield { type: 'text-delta', text: event.delta };
        break;
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        if (event.delta !== '') yield { type: 'reasoning-delta', text: event.delta };
        break;
      case 'response.output_item.added':
        yield* answer.begin(event.output_index, event.item);
        break;
      case 'response.function_call_arguments.delta':
        yield* answer.extend(event.output_index, event.delta);
        break;
      case 'response.output_item.done': {
        const call = answer.finish(event.output_index, event.item);
        if (call === undefined) break;
        if (call.call.name === '') {
          yield malformedAnswer(context, 'a tool call without a name');
          return;
        }
        yield { type: 'tool-call', ...call };
        break;
      }
      case 'response.completed':
      case 'response.incomplete': {
        const usage = toUsage(event.response.usage);
        if (usage !== null) yield { type: 'usage', usage };
        yield { type: 'end', stopReason: answer.stopReason(event.response), response: answer.response(event.response) };
        return;
      }
      case 'response.failed':
        throw serverError(event.response.error ?? { message: 'the answer failed' });
      case 'error':
        throw serverError(event);
      default:
    }
  }
  yield brokenStream(context);
}

/** In the shape of the SDK's own, so that one classification serves all. */
function serverError({ code, message }: { readonly code?: string | null; readonly message: string }): Error {
  return Object.assign(new Error(message), { error: { code: code ?? 'server_error', message } });
}

class Answer {
  readonly #context: ErrorContext;
  /** By the place in the output, which counts every kind of item. */
  readonly #calls = new Map<number, OpenCall>();
  readonly #content = new Map<number, ModelResponse['content'][number][]>();
  #refused = false;

  constructor(context: ErrorContext) {
    this.#context = context;
  }

  *begin(place: number, item: OutputItem): Generator<ModelEvent> {
    if (item.type !== 'function_call') return;
    const call = { index: this.#calls.size, id: item.call_id, name: item.name, arguments: '' };
    this.#calls.set(place, call);
    yield { type: 'tool-call-delta', index: call.index, name: call.name, argumentsDelta: '' };
  }

  *extend(place: number, argumentsDelta: string): Generator<ModelEvent> {
    const call = this.#calls.get(place);
    if (call === undefined) return;
    call.arguments += argumentsDelta;
    yield { type: 'tool-call-delta', index: call.index, name: call.name, argumentsDelta };
  }

  /** Keeps the item as it is when done; gives the call if it is one. */
  finish(place: number, item: OutputItem): { readonly index: number; readonly call: ModelToolCall } | undefined {
    switch (item.type) {
      case 'message':
        this.#content.set(place, this.#messageParts(item));
        return undefined;
      case 'reasoning': {
        const shown = [...(item.summary ?? []), ...(item.content ?? [])].map(({ text }) => text);
        const { id, summary, encrypted_content } = item;
        this.#content.set(place, [
          this.#reasoning(shown.join('\n\n'), { type: 'reasoning', id, summary, encrypted_content }),
        ]);
        return undefined;
      }
      case 'function_call': {
        const begun = this.#calls.get(place);
        const index = begun?.index ?? this.#calls.size;
        const text = item.arguments || (begun?.arguments ?? '');
        const call = { id: item.call_id, name: item.name, arguments: text === '' ? '{}' : text };
        this.#calls.set(place, { index, ...call });
        this.#content.set(place, [{ type: 'tool-call', ...call }]);
        return { index, call };
      }
      default:
        return undefined;
    }
  }

  stopReason({ status, incomplete_details: details }: Final): StopReason {
    if (isRefusalReason(details?.reason) || this.#refused) return 'refusal';
    if (status === 'incomplete') return 'length';
    return this.#calls.size > 0 ? 'tool-calls' : 'stop';
  }

  response({ model, usage, output = [] }: Final): ModelResponse {
    for (const [place, item] of output.entries()) if (!this.#content.has(place)) this.finish(place, item);
    const content = [...this.#content].toSorted(([a], [b]) => a - b).flatMap(([, parts]) => parts);
    return { content, model: model ?? this.#context.model, usage: toUsage(usage) };
  }

  #messageParts(item: OpenAI.Responses.ResponseOutputMessage): ModelResponse['content'][number][] {
    const texts = item.content.map((part) => (part.type === 'refusal' ? part.refusal : part.text));
    if (item.content.some((part) => part.type === 'refusal')) this.#refused = true;
    const text = texts.join('');
    if (text === '') return [];
    const { phase } = item;
    const mark = phase === undefined || phase === null ? [] : [this.#reasoning('', { type: 'phase', phase })];
    return [...mark, { type: 'text', text }];
  }

  #reasoning(text: string, data: unknown): ReasoningPart {
    const { provider, model } = this.#context;
    return { type: 'reasoning', provider, model, text, data };
  }
}

/** Null when the server did not count. */
function toUsage(usage: Partial<OpenAI.Responses.ResponseUsage> | null | undefined): Usage | null {
  if (usage === null || usage === undefined) return null;
  return {
    input: usage.input_tokens ?? 0,
    cached: usage.input_tokens_details?.cached_tokens ?? 0,
    cacheWrite: usage.input_tokens_details?.cache_write_tokens ?? 0,
    output: usage.output_tokens ?? 0,
    reasoning: usage.output_tokens_details?.reasoning_tokens ?? 0,
  };
}
