import type OpenAI from 'openai';
import type { Usage } from '../../util/token-usage.ts';
import { isRefusalReason } from '../content-refusals.ts';
import { brokenStream, malformedAnswer, type ErrorContext } from '../errors.ts';
import type { ModelEvent, ModelResponse, ModelToolCall, StopReason } from '../provider.ts';

type Chunk = OpenAI.ChatCompletionChunk;
type Delta = OpenAI.ChatCompletionChunk.Choice['delta'];

/** Compatible servers leave out fields that the SDK's types promise, and add the reasoning that they do not know. */
type LooseDelta = Partial<Delta> & { readonly reasoning_content?: unknown; readonly reasoning?: unknown };

/**
 * Reads a Chat Completions stream. It is complete once it gave a finish reason, even if it breaks off afterwards;
 * without one it is broken, or throws what the stream threw.
 */
export async function* fromOpenAiEvents(
  stream: AsyncIterable<Chunk>,
  context: ErrorContext,
): AsyncGenerator<ModelEvent> {
  const answer = new Answer();
  try {
    for await (const chunk of stream) yield* answer.take(chunk);
  } catch (thrown) {
    if (answer.finishReason === null) throw thrown;
  }
  const { finishReason } = answer;
  if (finishReason === null || FAILED.has(finishReason)) {
    yield brokenStream(context);
    return;
  }
  if (answer.calls.some((call) => call.name === '')) {
    yield malformedAnswer(context, 'a tool call without a name');
    return;
  }
  for (const [index, call] of answer.calls.entries()) yield { type: 'tool-call', index, call: { ...call } };
  if (answer.usage !== null) yield { type: 'usage', usage: answer.usage };
  yield { type: 'end', stopReason: answer.stopReason(finishReason), response: answer.response(context) };
}

/** What gateways say instead of a finish reason when the server behind them failed. */
const FAILED = new Set(['error', 'insufficient_system_resource']);

class Answer {
  finishReason: string | null = null;
  usage: Usage | null = null;
  readonly calls: { id: string; name: string; arguments: string }[] = [];
  #model: string | undefined;
  #text = '';
  #reasoning = '';
  /** Undefined: it has no field in which it could go back. */
  #reasoningField: string | undefined = 'reasoning_content';
  readonly #extras: Record<string, unknown> = {};
  #refused = false;
  /** The server's index of a call → ours. */
  readonly #slots = new Map<number, number>();

  *take(chunk: Chunk): Generator<ModelEvent> {
    if (chunk.model) this.#model ??= chunk.model;
    if (chunk.usage) this.usage = toUsage(chunk.usage);
    // Some servers send chunks without choices, or without a delta.
    const choice: Partial<Chunk['choices'][number]> | undefined = (chunk.choices ?? [])[0];
    if (choice === undefined) return;
    const delta: LooseDelta = choice.delta ?? {};
    yield* this.#takeReasoning(delta);
    yield* this.#takeThoughts(delta.content);
    const text = textOf(delta.content) || (delta.refusal ?? '');
    if (delta.refusal) this.#refused = true;
    if (text !== '') {
      this.#text += text;
      yield { type: 'text-delta', text };
    }
    for (const call of delta.tool_calls ?? []) yield this.#takeCall(call);
    if (choice.finish_reason) this.finishReason = choice.finish_reason;
  }

  *#takeReasoning(delta: LooseDelta): Generator<ModelEvent> {
    for (const field of ['reasoning_content', 'reasoning'] as const) {
      const text = delta[field];
      if (typeof text !== 'string' || text === '') continue;
      this.#reasoning += text;
      this.#reasoningField = field;
      yield { type: 'reasoning-delta', text };
      return;
    }
  }

  /** Mistral's thoughts come as parts of the content. */
  *#takeThoughts(content: unknown): Generator<ModelEvent> {
    for (const part of partsOf(content)) {
      const text = textOf(Reflect.get(part, 'thinking'));
      if (text === '') continue;
      this.#reasoning += text;
      this.#reasoningField = undefined;
      yield { type: 'reasoning-delta', text };
    }
  }

  #takeCall(delta: NonNullable<Delta['tool_calls']>[number]): ModelEvent {
    const wireIndex: number | undefined = delta.index;
    const name = delta.function?.name ?? '';
    const argumentsDelta = delta.function?.arguments ?? '';
    let index = wireIndex === undefined ? this.calls.length - 1 : this.#slots.get(wireIndex);
    let call = index === undefined ? undefined : this.calls[index];
    // Servers that do not count their calls begin each with a name and an id of its own.
    const begins = name !== '' && call !== undefined && call.name !== '' && (delta.id ?? call.id) !== call.id;
    if (index === undefined || call === undefined || begins) {
      index = this.calls.length;
      call = { id: '', name: '', arguments: '' };
      this.calls.push(call);
      if (wireIndex !== undefined) this.#slots.set(wireIndex, index);
    }
    if (call.id === '') call.id = delta.id ?? '';
    if (call.name === '') call.name = name;
    call.arguments += argumentsDelta;
    const extra: unknown = Reflect.get(delta, 'extra_content');
    if (extra !== undefined && extra !== null) this.#extras[index] = extra;
    return { type: 'tool-call-delta', index, name: call.name, argumentsDelta };
  }

  stopReason(finishReason: string): StopReason {
    if (finishReason === 'length') return 'length';
    if (isRefusalReason(finishReason) || this.#refused) return 'refusal';
    return this.calls.length > 0 ? 'tool-calls' : 'stop';
  }

  response({ provider, model }: ErrorContext): ModelResponse {
    const content: ModelResponse['content'][number][] = [];
    const text = this.#reasoning;
    const field = text === '' ? undefined : this.#reasoningField;
    const hasExtras = Object.keys(this.#extras).length > 0;
    const data = { ...(field === undefined ? {} : { field }), text, ...(hasExtras ? { extras: this.#extras } : {}) };
    if (text !== '' || hasExtras) content.push({ type: 'reasoning', provider, model, text, data });
    if (this.#text !== '') content.push({ type: 'text', text: this.#text });
    content.push(...this.calls.map((call): { type: 'tool-call' } & ModelToolCall => ({ type: 'tool-call', ...call })));
    return { content, model: this.#model ?? model, usage: this.usage };
  }
}

function partsOf(content: unknown): readonly object[] {
  return Array.isArray(content) ? content.filter((part) => typeof part === 'object' && part !== null) : [];
}

/** Text, or the text parts of a list. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  const texts = partsOf(content).map((part): unknown => Reflect.get(part, 'text'));
  return texts.filter((text) => typeof text === 'string').join('');
}

/** DeepSeek counts cached tokens under a name of its own. */
type LooseUsage = OpenAI.CompletionUsage & { readonly prompt_cache_hit_tokens?: number };

function toUsage(usage: LooseUsage): Usage {
  return {
    input: usage.prompt_tokens ?? 0,
    cached: usage.prompt_tokens_details?.cached_tokens ?? usage.prompt_cache_hit_tokens ?? 0,
    cacheWrite: usage.prompt_tokens_details?.cache_write_tokens ?? 0,
    output: usage.completion_tokens ?? 0,
    reasoning: usage.completion_tokens_details?.reasoning_tokens ?? 0,
  };
}
