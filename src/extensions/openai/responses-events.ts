import type { OpenAI } from 'openai';
import {
  DONE,
  argumentsText,
  brokenStream,
  failureIn,
  isRefusalReason,
  malformedAnswer,
  readUsage,
  type ErrorContext,
  type ModelEvent,
  type ModelResponse,
  type ModelToolCall,
  type ReasoningPart,
  type StopReason,
} from '../../core/api-providers.ts';

type RawEvent = OpenAI.Responses.ResponseStreamEvent;
type OutputItem = OpenAI.Responses.ResponseOutputItem;
type Final = Partial<OpenAI.Responses.Response>;
/** What a server sends instead of a stream. */
type WholeResponse = Final & { readonly object: 'response'; readonly type?: undefined };

/** Where an event belongs; compatible servers leave out either. */
interface Place {
  readonly output_index?: number;
  readonly item_id?: string;
}

interface OpenCall {
  readonly index: number;
  readonly id: string;
  readonly name: string;
  arguments: string;
}

/**
 * Reads a Responses stream, or a response as a whole. Without `response.completed`, `response.incomplete`, or `[DONE]`
 * after some content it is broken; a failure that the server reports is thrown for the caller to classify.
 */
export async function* fromResponsesEvents(
  stream: AsyncIterable<RawEvent | WholeResponse | typeof DONE>,
  context: ErrorContext,
): AsyncGenerator<ModelEvent> {
  const answer = new Answer(context);
  for await (const event of stream) {
    if (event === DONE) {
      if (!answer.hasContent) break;
      yield* answer.end({});
      return;
    }
    switch (event.type) {
      case 'response.output_text.delta':
      case 'response.refusal.delta':
        yield* answer.say(event, event.delta);
        break;
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        if (event.delta !== '') yield { type: 'reasoning-delta', text: event.delta };
        break;
      case 'response.output_item.added':
        yield* answer.begin(event, event.item);
        break;
      case 'response.function_call_arguments.delta':
        yield* answer.extend(event, argumentsText(event.delta));
        break;
      case 'response.output_item.done': {
        const call = answer.finish(event, event.item);
        if (call !== undefined) yield { type: 'tool-call', ...call };
        break;
      }
      case 'response.completed':
      case 'response.incomplete':
        yield* answer.end(event.response);
        return;
      case undefined:
        if (event.object !== 'response') break;
        yield* answer.end(event);
        return;
      case 'response.failed': {
        const usage = readUsage(event.response.usage);
        if (usage !== null) yield { type: 'usage', usage };
        throw serverError(event.response.error ?? { message: 'the answer failed' });
      }
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
  /** Text that was streamed, by its item's place: all there is of an item that is never done. */
  readonly #said = new Map<number, string>();
  readonly #placeOfItem = new Map<string, number>();
  /** The place of the item that began last. */
  #latest = -1;
  #dropped = false;
  #refused = false;

  constructor(context: ErrorContext) {
    this.#context = context;
  }

  /** Whether the server sent a text or calls. */
  get hasContent(): boolean {
    return this.#said.size > 0 || this.#calls.size > 0;
  }

  *say(at: Place, text: string): Generator<ModelEvent> {
    if (text === '') return;
    const place = this.#place(at, at.item_id);
    this.#said.set(place, (this.#said.get(place) ?? '') + text);
    yield { type: 'text-delta', text };
  }

  *begin(at: Place, item: OutputItem): Generator<ModelEvent> {
    const place = this.#place(at, item.id ?? undefined, true);
    if (item.type !== 'function_call') return;
    const call = { index: this.#calls.size, id: item.call_id ?? '', name: item.name ?? '', arguments: '' };
    this.#calls.set(place, call);
    yield { type: 'tool-call-delta', index: call.index, name: call.name, argumentsDelta: '' };
  }

  *extend(at: Place, argumentsDelta: string): Generator<ModelEvent> {
    const call = this.#calls.get(this.#place(at, at.item_id));
    if (call === undefined) return;
    call.arguments += argumentsDelta;
    yield { type: 'tool-call-delta', index: call.index, name: call.name, argumentsDelta };
  }

  /** Keeps the item as it is when done; gives the call if it is one with a name. */
  finish(at: Place, item: OutputItem): { readonly index: number; readonly call: ModelToolCall } | undefined {
    const place = this.#place(at, item.id ?? undefined, this.#content.has(this.#latest));
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
        const text = argumentsText(item.arguments) || (begun?.arguments ?? '');
        const name = item.name || (begun?.name ?? '');
        const call = { id: item.call_id ?? '', name, arguments: text === '' ? '{}' : text };
        this.#calls.set(place, { index, ...call });
        // Nobody can run a call without a name.
        this.#content.set(place, name === '' ? [] : [{ type: 'tool-call', ...call }]);
        if (name !== '') return { index, call };
        this.#dropped = true;
        return undefined;
      }
      default:
        return undefined;
    }
  }

  *end(final: Final): Generator<ModelEvent> {
    const usage = readUsage(final.usage);
    if (usage !== null) yield { type: 'usage', usage };
    const reason = final.incomplete_details?.reason ?? (final.status === 'incomplete' ? '' : (final.status ?? ''));
    const failure = failureIn(reason, this.#context);
    if (failure !== null) {
      yield failure;
      return;
    }
    const response = this.#response(final);
    if (this.#said.size === 0) {
      for (const part of response.content) if (part.type === 'text') yield { type: 'text-delta', text: part.text };
    }
    if (this.#dropped && response.content.every(({ type }) => type === 'reasoning')) {
      yield malformedAnswer(this.#context, 'a tool call without a name');
      return;
    }
    yield { type: 'end', stopReason: this.#stopReason(final, response), response: { ...response, usage } };
  }

  /** The place of an item in the output: as the server counts, else by the item's id, else that of the latest item. */
  #place({ output_index: counted }: Place, id: string | undefined, begins = false): number {
    const known = id === undefined || id === '' ? undefined : this.#placeOfItem.get(id);
    const place = counted ?? known ?? (begins || this.#latest === -1 ? this.#latest + 1 : this.#latest);
    if (id !== undefined && id !== '') this.#placeOfItem.set(id, place);
    this.#latest = Math.max(this.#latest, place);
    return place;
  }

  #stopReason({ status, incomplete_details: details }: Final, { content }: Pick<ModelResponse, 'content'>): StopReason {
    if (isRefusalReason(details?.reason) || this.#refused) return 'refusal';
    if (status === 'incomplete') return 'length';
    return content.some(({ type }) => type === 'tool-call') ? 'tool-calls' : 'stop';
  }

  #response({ model, output = [] }: Final): Omit<ModelResponse, 'usage'> {
    for (const [place, item] of output.entries()) {
      if (!this.#content.has(place)) this.finish({ output_index: place }, item);
    }
    for (const [place, text] of this.#said) {
      const isKnown = [...this.#content.values()].flat().some((part) => part.type === 'text' && part.text === text);
      if (!this.#content.has(place) && !isKnown) this.#content.set(place, [{ type: 'text', text }]);
    }
    const content = [...this.#content].toSorted(([a], [b]) => a - b).flatMap(([, parts]) => parts);
    return { content, model: model ?? this.#context.model };
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
