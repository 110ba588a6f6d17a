import type OpenAI from 'openai';
import {
  DONE,
  argumentsText,
  brokenStream,
  failureIn,
  isJson,
  isLengthReason,
  isRefusalReason,
  laterUsage,
  malformedAnswer,
  readUsage,
  type ErrorContext,
  type ModelEvent,
  type ModelResponse,
  type ModelToolCall,
  type StopReason,
  type Usage,
} from '../../core/api-providers.ts';
import { deadline, raceAbort, type Clock } from '../../core/api.ts';

type Chunk = OpenAI.ChatCompletionChunk;
type Delta = OpenAI.ChatCompletionChunk.Choice['delta'];

/** Compatible servers leave out fields that the SDK's types promise, and add others. */
type LooseDelta = Partial<Delta> & { readonly reasoning_content?: unknown; readonly reasoning?: unknown };
type LooseChoice = Partial<Omit<Chunk['choices'][number], 'index'>> & {
  readonly index?: number | string | null;
  /** In a JSON body instead of a stream. */
  readonly message?: LooseDelta;
  readonly usage?: unknown;
};
type LooseCall = Partial<NonNullable<Delta['tool_calls']>[number]>;

/**
 * Reads a Chat Completions stream. It is complete once the server gave a finish reason, even if the stream breaks or falls
 * silent afterwards, or said `[DONE]` after some content. Otherwise it is broken, or throws what the stream threw.
 */
export async function* fromOpenAiEvents(
  stream: AsyncIterable<Chunk | typeof DONE>,
  context: ErrorContext,
  clock: Clock,
): AsyncGenerator<ModelEvent> {
  const answer = new Answer();
  let done = false;
  try {
    for await (const chunk of untilQuiet(stream, () => answer.hasEnded, clock)) {
      if (chunk === DONE) {
        done = true;
        break;
      }
      yield* answer.take(chunk);
    }
  } catch (thrown) {
    if (!answer.hasEnded) throw thrown;
  }
  yield* answer.end();
  if (answer.usage !== null) yield { type: 'usage', usage: answer.usage };
  const finishReason = answer.finishReason ?? (done && answer.hasContent ? 'stop' : null);
  if (finishReason === null) {
    yield brokenStream(context);
    return;
  }
  const failure = failureIn(finishReason, context);
  if (failure !== null) {
    yield failure;
    return;
  }
  answer.dropNameless();
  if (!answer.hasContent && answer.droppedCalls) {
    yield malformedAnswer(context, 'a tool call without a name');
    return;
  }
  for (const [index, call] of answer.calls.entries()) yield { type: 'tool-call', index, call: { ...call } };
  yield { type: 'end', stopReason: answer.stopReason(finishReason), response: answer.response(context) };
}

/** How long a server may take for the usage and `[DONE]` after a finish reason. Some send neither and keep the connection open. */
const GRACE_MS = 2_000;

/** Gives what a stream gives. Once it `mayEnd`, throws a `DeadlineError` when nothing comes for a while. */
async function* untilQuiet<T>(stream: AsyncIterable<T>, mayEnd: () => boolean, clock: Clock): AsyncGenerator<T> {
  const pieces = stream[Symbol.asyncIterator]();
  let isWaiting = false;
  try {
    for (;;) {
      isWaiting = true;
      using grace = mayEnd() ? deadline(clock, GRACE_MS, 'the end of the stream') : undefined;
      const step = await (grace === undefined ? pieces.next() : raceAbort(pieces.next(), grace.signal));
      isWaiting = false;
      if (step.done === true) return;
      yield step.value;
    }
  } finally {
    // While a piece is still awaited, this would wait too; the caller closes the connection.
    if (!isWaiting) await pieces.return?.();
  }
}

class Answer {
  finishReason: string | null = null;
  usage: Usage | null = null;
  calls: { id: string; name: string; arguments: string }[] = [];
  droppedCalls = false;
  #model: string | undefined;
  #text = '';
  #reasoning = '';
  /** Undefined: it has no field in which it could go back. */
  #reasoningField: string | undefined = 'reasoning_content';
  #extras: Record<string, unknown> = {};
  #refused = false;
  /** What came of other choices than the first, by index; without the first one, the lowest of them is read. */
  readonly #others = new Map<number, LooseChoice[]>();
  #hasFirst = false;
  /** The server's index of a call → ours. */
  readonly #slots = new Map<number, number>();

  /** Whether the server sent a text or calls. */
  get hasContent(): boolean {
    return this.#text !== '' || this.calls.length > 0;
  }

  *take(chunk: Chunk): Generator<ModelEvent> {
    if (chunk.model) this.#model ??= chunk.model;
    // Some servers send chunks without choices, or without a delta, and choices in any order.
    const choices: readonly LooseChoice[] = chunk.choices ?? [];
    for (const counted of [chunk, Reflect.get(chunk, 'x_groq'), ...choices]) this.#count(counted);
    for (const choice of choices) {
      const index = indexOf(choice);
      if (index === 0) {
        this.#hasFirst = true;
        yield* this.#read(choice);
      } else this.#others.set(index, [...(this.#others.get(index) ?? []), choice]);
    }
  }

  /** Whether no more is to come but the usage. */
  get hasEnded(): boolean {
    return this.finishReason !== null || (!this.#hasFirst && this.#othersReason() !== null);
  }

  /** The stream is over: reads another choice if the first one never came. */
  *end(): Generator<ModelEvent> {
    const lowest = Math.min(...this.#others.keys());
    if (!this.#hasFirst) for (const choice of this.#others.get(lowest) ?? []) yield* this.#read(choice);
    // Some servers name the index in some chunks only.
    this.finishReason ??= this.#othersReason();
  }

  #othersReason(): string | null {
    return [...this.#others.values()].flat().findLast((choice) => choice.finish_reason)?.finish_reason ?? null;
  }

  *#read(choice: LooseChoice): Generator<ModelEvent> {
    const delta: LooseDelta = choice.delta ?? choice.message ?? {};
    yield* this.#takeReasoning(delta);
    yield* this.#takeThoughts(delta.content);
    const text = textOf(delta.content) || (delta.refusal ?? '');
    if (delta.refusal) this.#refused = true;
    if (text !== '') {
      this.#text += text;
      yield { type: 'text-delta', text };
    }
    for (const call of delta.tool_calls ?? []) yield this.#takeCall(call);
    // The older form, for a single call.
    if (delta.function_call) yield this.#takeCall({ function: delta.function_call });
    if (choice.finish_reason) this.finishReason = choice.finish_reason;
  }

  /** The usage may be in the chunk, in its choice, or where Groq puts it. */
  #count(from: unknown): void {
    const usage: unknown = typeof from === 'object' && from !== null ? Reflect.get(from, 'usage') : undefined;
    this.usage = laterUsage(this.usage, readUsage(usage));
  }

  /** Removes calls without a name, which nobody can run. */
  dropNameless(): void {
    const kept = [...this.calls.entries()].filter(([, { name }]) => name !== '');
    this.droppedCalls = kept.length < this.calls.length;
    this.#extras = Object.fromEntries(
      kept.flatMap(([before], index) => (before in this.#extras ? [[index, this.#extras[before]]] : [])),
    );
    this.calls = kept.map(([, call]) => call);
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

  #takeCall(delta: LooseCall): ModelEvent {
    const wireIndex = delta.index ?? undefined;
    const name = delta.function?.name ?? '';
    const argumentsDelta = argumentsText(delta.function?.arguments);
    let index = wireIndex === undefined ? this.calls.length - 1 : this.#slots.get(wireIndex);
    let call = index === undefined ? undefined : this.calls[index];
    const begins = name !== '' && call !== undefined && call.name !== '' && isOther(call, delta);
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
    if (isLengthReason(finishReason)) return 'length';
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

/** Zero where it is left out; some servers send it as a string. */
function indexOf({ index }: LooseChoice): number {
  return Number(index ?? 0);
}

/**
 * Whether a piece with a name begins another call: it has another id or, on servers without ids, another name, or
 * arguments of its own after those of `call` are whole.
 */
function isOther(call: Pick<ModelToolCall, 'id' | 'name' | 'arguments'>, { id, function: piece }: LooseCall): boolean {
  if (id) return id !== call.id;
  if (piece?.name !== call.name) return true;
  return argumentsText(piece.arguments).trimStart().startsWith('{') && isJson(call.arguments);
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
