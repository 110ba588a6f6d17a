import type Anthropic from '@anthropic-ai/sdk';
import {
  DONE,
  argumentsText,
  brokenStream,
  failureIn,
  isLengthReason,
  isRefusalReason,
  malformedAnswer,
  readUsage,
  type ErrorContext,
  type ModelEvent,
  type ModelResponse,
  type ModelToolCall,
  type StopReason,
} from '../../core/api-providers.ts';

type RawEvent = Anthropic.RawMessageStreamEvent;

type OpenBlock =
  | { readonly type: 'text'; text: string }
  | { readonly type: 'thinking'; thinking: string; signature: string }
  | { readonly type: 'redacted_thinking'; readonly data: string }
  | {
      readonly type: 'tool_use';
      readonly index: number;
      readonly id: string;
      readonly name: string;
      json: string;
      readonly input: unknown;
    };

/** A block as it begins. Compatible servers leave out fields that the SDK's types promise. */
interface LooseBlock {
  readonly type: string;
  readonly text?: string | null;
  readonly thinking?: string | null;
  readonly signature?: string | null;
  readonly data?: string | null;
  readonly id?: string | null;
  readonly name?: string | null;
  readonly input?: unknown;
}
/** What a server sends instead of a stream. */
interface WholeMessage {
  readonly type: 'message';
  readonly model?: string;
  readonly stop_reason?: string | null;
  readonly usage?: UsageFields | null;
  readonly content?: readonly LooseBlock[];
}

/**
 * Reads a Messages stream, or a message as a whole. A stream without `message_stop`, or `[DONE]` after a stop reason, is
 * broken; what the stream throws is the caller's.
 */
export async function* fromAnthropicEvents(
  stream: AsyncIterable<RawEvent | WholeMessage | typeof DONE>,
  context: ErrorContext,
): AsyncGenerator<ModelEvent> {
  const answer = new Answer(context);
  for await (const event of stream) {
    if (event === DONE) {
      if (answer.stopReason === null) break;
      yield* answer.end();
      return;
    }
    switch (event.type) {
      case 'message':
        yield* answer.whole(event);
        return;
      case 'message_start':
        yield* answer.take(event.message);
        break;
      case 'content_block_start':
        yield* answer.begin(event.index, event.content_block);
        break;
      case 'content_block_delta':
        yield* answer.extend(event.index, event.delta);
        break;
      case 'content_block_stop':
        yield* answer.finish(event.index);
        break;
      case 'message_delta':
        yield* answer.take({ stop_reason: event.delta?.stop_reason ?? null, usage: event.usage });
        break;
      case 'message_stop':
        yield* answer.end();
        return;
    }
  }
  yield brokenStream(context);
}

class Answer {
  stopReason: string | null = null;
  readonly #context: ErrorContext;
  readonly #blocks = new Map<number, OpenBlock>();
  #calls = 0;
  #dropped = false;
  #model: string;
  #usage: UsageFields = {};

  constructor(context: ErrorContext) {
    this.#context = context;
    this.#model = context.model;
  }

  /** Takes what a message says of itself. */
  *take({
    model,
    stop_reason,
    usage,
  }: {
    readonly model?: string | null;
    readonly stop_reason?: string | null;
    readonly usage?: UsageFields | null;
  } = {}): Generator<ModelEvent> {
    this.#model = model ?? this.#model;
    this.stopReason = stop_reason ?? this.stopReason;
    this.#usage = merge(this.#usage, usage);
    const total = readUsage(this.#usage);
    // The first event counts an output of one token even where the server doesn't count.
    if (total !== null && total.input > 0) yield { type: 'usage', usage: total };
  }

  *begin(place: number, raw: LooseBlock): Generator<ModelEvent> {
    const block = openBlock(raw, this.#calls);
    if (block === undefined) return;
    if (block.type === 'tool_use' && block.name === '') {
      this.#dropped = true;
      return;
    }
    this.#blocks.set(place, block);
    if (block.type === 'tool_use') {
      this.#calls += 1;
      yield { type: 'tool-call-delta', index: block.index, name: block.name, argumentsDelta: '' };
    } else if (block.type === 'text' && block.text !== '') {
      yield { type: 'text-delta', text: block.text };
    }
  }

  *extend(place: number, delta: Anthropic.RawContentBlockDelta): Generator<ModelEvent> {
    const block = this.#blocks.get(place);
    const seen = block === undefined ? undefined : extend(block, delta);
    if (seen !== undefined) yield seen;
  }

  *finish(place: number): Generator<ModelEvent> {
    const block = this.#blocks.get(place);
    if (block?.type === 'tool_use') yield { type: 'tool-call', index: block.index, call: toCall(block) };
  }

  *whole(message: WholeMessage): Generator<ModelEvent> {
    yield* this.take(message);
    for (const [place, block] of (message.content ?? []).entries()) {
      yield* this.begin(place, block);
      yield* this.finish(place);
    }
    yield* this.end();
  }

  *end(): Generator<ModelEvent> {
    const content = [...this.#blocks.values()].flatMap((block) => toContent(block, this.#context));
    const failure = failureIn(this.stopReason ?? '', this.#context);
    if (failure !== null) {
      yield failure;
      return;
    }
    if (this.#dropped && content.every(({ type }) => type === 'reasoning')) {
      yield malformedAnswer(this.#context, 'a tool call without a name');
      return;
    }
    const response = { content, model: this.#model, usage: readUsage(this.#usage) };
    yield { type: 'end', stopReason: toStopReason(this.stopReason, this.#calls), response };
  }
}

/** Undefined for blocks of server tools, which are never asked for. */
function openBlock(block: LooseBlock, calls: number): OpenBlock | undefined {
  const { id, name, input } = block;
  switch (block.type) {
    case 'text':
      return { type: 'text', text: block.text ?? '' };
    case 'thinking':
      return { type: 'thinking', thinking: block.thinking ?? '', signature: block.signature ?? '' };
    case 'redacted_thinking':
      return { type: 'redacted_thinking', data: block.data ?? '' };
    case 'tool_use':
      return { type: 'tool_use', index: calls, id: id ?? '', name: name ?? '', json: '', input };
    default:
      return undefined;
  }
}

function extend(block: OpenBlock, delta: Anthropic.RawContentBlockDelta): ModelEvent | undefined {
  if (block.type === 'text' && delta.type === 'text_delta') {
    block.text += delta.text;
    return { type: 'text-delta', text: delta.text };
  }
  if (block.type === 'thinking' && delta.type === 'thinking_delta') {
    block.thinking += delta.thinking;
    return { type: 'reasoning-delta', text: delta.thinking };
  }
  if (block.type === 'thinking' && delta.type === 'signature_delta') block.signature += delta.signature;
  if (block.type === 'tool_use' && delta.type === 'input_json_delta') {
    const argumentsDelta = argumentsText(delta.partial_json);
    block.json += argumentsDelta;
    const { index, name } = block;
    return { type: 'tool-call-delta', index, name, argumentsDelta };
  }
  return undefined;
}

/** Without any delta the input is what the block began with. */
function toCall({ id, name, json, input }: Extract<OpenBlock, { type: 'tool_use' }>): ModelToolCall {
  return { id, name, arguments: json || argumentsText(input) || '{}' };
}

function toContent(block: OpenBlock, { provider, model }: ErrorContext): ModelResponse['content'] {
  if (block.type === 'text') return block.text === '' ? [] : [block];
  if (block.type === 'tool_use') return [{ type: 'tool-call', ...toCall(block) }];
  const text = block.type === 'thinking' ? block.thinking : '';
  return [{ type: 'reasoning', provider, model, text, data: block }];
}

function toStopReason(reason: string | null, calls: number): StopReason {
  if (isLengthReason(reason ?? '')) return 'length';
  if (isRefusalReason(reason)) return 'refusal';
  return calls > 0 ? 'tool-calls' : 'stop';
}

type UsageFields = Partial<Anthropic.MessageDeltaUsage>;

/** Later counts are cumulative and replace the earlier ones; null and absent ones say nothing. */
function merge(before: UsageFields, now: UsageFields | null | undefined): UsageFields {
  const said = Object.entries(now ?? {}).filter(([, value]) => value !== null);
  return { ...before, ...Object.fromEntries(said) };
}
