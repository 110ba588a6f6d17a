import type Anthropic from '@anthropic-ai/sdk';
import type { Usage } from '../../util/token-usage.ts';
import { isRefusalReason } from '../content-refusals.ts';
import { brokenStream, malformedAnswer, type ErrorContext } from '../errors.ts';
import type { ModelEvent, ModelResponse, ModelToolCall, StopReason } from '../provider.ts';

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

/** Reads a Messages stream. A stream without `message_stop` is broken; what the stream throws is the caller's. */
export async function* fromAnthropicEvents(
  stream: AsyncIterable<RawEvent>,
  context: ErrorContext,
): AsyncGenerator<ModelEvent> {
  const blocks = new Map<number, OpenBlock>();
  let calls = 0;
  let model = context.model;
  let usage: UsageFields = {};
  let stopReason: string | null = null;
  for await (const event of stream) {
    switch (event.type) {
      case 'message_start':
        model = event.message.model;
        usage = merge(usage, event.message.usage);
        break;
      case 'content_block_start': {
        const block = openBlock(event.content_block, calls);
        if (block === undefined) break;
        blocks.set(event.index, block);
        if (block.type === 'tool_use') {
          calls += 1;
          yield { type: 'tool-call-delta', index: block.index, name: block.name, argumentsDelta: '' };
        } else if (block.type === 'text' && block.text !== '') {
          yield { type: 'text-delta', text: block.text };
        }
        break;
      }
      case 'content_block_delta': {
        const block = blocks.get(event.index);
        const seen = block === undefined ? undefined : extend(block, event.delta);
        if (seen !== undefined) yield seen;
        break;
      }
      case 'content_block_stop': {
        const block = blocks.get(event.index);
        if (block?.type !== 'tool_use') break;
        if (block.name === '') {
          yield malformedAnswer(context, 'a tool call without a name');
          return;
        }
        yield { type: 'tool-call', index: block.index, call: toCall(block) };
        break;
      }
      case 'message_delta':
        stopReason = event.delta.stop_reason ?? stopReason;
        usage = merge(usage, event.usage);
        break;
      case 'message_stop': {
        const total = toUsage(usage);
        if (total !== null) yield { type: 'usage', usage: total };
        const content = [...blocks.values()].flatMap((block) => toContent(block, context));
        yield { type: 'end', stopReason: toStopReason(stopReason, calls), response: { content, model, usage: total } };
        return;
      }
    }
  }
  yield brokenStream(context);
}

/** Undefined for blocks of server tools, which are never asked for. */
function openBlock(block: Anthropic.RawContentBlockStartEvent['content_block'], calls: number): OpenBlock | undefined {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: block.text };
    case 'thinking':
      return { type: 'thinking', thinking: block.thinking, signature: block.signature };
    case 'redacted_thinking':
      return { type: 'redacted_thinking', data: block.data };
    case 'tool_use':
      return { type: 'tool_use', index: calls, id: block.id, name: block.name, json: '', input: block.input };
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
    block.json += delta.partial_json;
    const { index, name } = block;
    return { type: 'tool-call-delta', index, name, argumentsDelta: delta.partial_json };
  }
  return undefined;
}

/** Without any delta the input is what the block began with. */
function toCall({ id, name, json, input }: Extract<OpenBlock, { type: 'tool_use' }>): ModelToolCall {
  return { id, name, arguments: json === '' ? JSON.stringify(input ?? {}) : json };
}

function toContent(block: OpenBlock, { provider, model }: ErrorContext): ModelResponse['content'] {
  if (block.type === 'text') return block.text === '' ? [] : [block];
  if (block.type === 'tool_use') return [{ type: 'tool-call', ...toCall(block) }];
  const text = block.type === 'thinking' ? block.thinking : '';
  return [{ type: 'reasoning', provider, model, text, data: block }];
}

function toStopReason(reason: string | null, calls: number): StopReason {
  if (isRefusalReason(reason)) return 'refusal';
  switch (reason) {
    case 'max_tokens':
    case 'model_context_window_exceeded':
      return 'length';
    default:
      return calls > 0 ? 'tool-calls' : 'stop';
  }
}

type UsageFields = Partial<Anthropic.MessageDeltaUsage>;

/** Later counts are cumulative and replace the earlier ones; null and absent ones say nothing. */
function merge(before: UsageFields, now: UsageFields | null | undefined): UsageFields {
  const said = Object.entries(now ?? {}).filter(([, value]) => value !== null);
  return { ...before, ...Object.fromEntries(said) };
}

/** Null when the server counted nothing. */
function toUsage(fields: UsageFields): Usage | null {
  const cached = fields.cache_read_input_tokens ?? 0;
  const cacheWrite = fields.cache_creation_input_tokens ?? 0;
  const input = (fields.input_tokens ?? 0) + cached + cacheWrite;
  const output = fields.output_tokens ?? 0;
  if (input === 0 && output === 0) return null;
  return { input, cached, cacheWrite, output, reasoning: fields.output_tokens_details?.thinking_tokens ?? 0 };
}
