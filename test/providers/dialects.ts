import { PROGRAM } from '../support/extensions.ts';
import { createAnthropicProvider } from '../../src/extensions/anthropic/messages.ts';
import type { EndpointOptions } from '../../src/core/providers/endpoint.ts';
import { createOllamaProvider } from '../../src/extensions/ollama/chat.ts';
import { createOpenAiResponsesProvider } from '../../src/extensions/openai/responses.ts';
import { createOpenAiProvider } from '../../src/extensions/openai/chat.ts';
import type {
  AssistantPart,
  ModelError,
  ModelEvent,
  ModelMessage,
  ModelRequest,
  Provider,
} from '../../src/core/providers/provider.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { startFakeAnthropic } from '../support/fake-anthropic.ts';
import type { FakeModel, FakeModelOptions } from '../support/fake-model.ts';
import { startFakeOllama } from '../support/fake-ollama.ts';
import { startFakeOpenAiResponses } from '../support/fake-openai-responses.ts';
import { startFakeOpenAi } from '../support/fake-openai.ts';
import type { Step } from '../support/model-script.ts';

/** A way of speaking to models, for tests that hold for all of them. */
export interface Dialect {
  readonly name: 'openai' | 'openai-responses' | 'anthropic' | 'ollama';
  start(options?: FakeModelOptions): Promise<FakeModel>;
  create(options: EndpointOptions): Provider;
  /** What the API says when the prompt is longer than the window. */
  readonly overflow: { readonly status: number; readonly message: string; readonly code?: string };
  /** The finish reasons of a truncated and of a refused answer. */
  readonly lengthReason: string;
  /** Null: the API does not say that a model refused. */
  readonly refusalReason: string | null;
  /** Whether it says what of the prompt was cached, and how much of the answer was reasoning. @default true */
  readonly countsParts?: boolean;
}

export const DIALECTS: readonly Dialect[] = [
  {
    name: 'openai',
    start: startFakeOpenAi,
    create: createOpenAiProvider,
    overflow: {
      status: 400,
      code: 'context_length_exceeded',
      message: "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
    },
    lengthReason: 'length',
    refusalReason: 'content_filter',
  },
  {
    name: 'openai-responses',
    start: startFakeOpenAiResponses,
    create: createOpenAiResponsesProvider,
    overflow: {
      status: 400,
      code: 'context_length_exceeded',
      message: 'Your input exceeds the context window of this model. Please adjust your input and try again.',
    },
    lengthReason: 'max_output_tokens',
    refusalReason: 'content_filter',
  },
  {
    name: 'anthropic',
    start: startFakeAnthropic,
    create: createAnthropicProvider,
    overflow: { status: 400, message: 'prompt is too long: 210000 tokens > 200000 maximum' },
    lengthReason: 'max_tokens',
    refusalReason: 'refusal',
  },
  {
    name: 'ollama',
    start: startFakeOllama,
    create: (options) => createOllamaProvider({ ...options, hints: PROGRAM.vendors['ollama']?.hints }),
    overflow: { status: 400, message: 'the input length exceeds the context length' },
    lengthReason: 'length',
    refusalReason: null,
    countsParts: false,
  },
];

export const KEY = 'sk-test-0123456789abcdef';

export function connect(
  dialect: Dialect,
  server: { readonly url: string },
  more: Partial<EndpointOptions> = {},
): Provider {
  return dialect.create({ name: dialect.name, apiKey: KEY, baseUrl: server.url, clock: systemClock, ...more });
}

const TOOLS = [
  {
    name: 'read_file',
    description: 'Reads a file.',
    parameters: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
  },
];

export function request(messages: readonly ModelMessage[], more: Partial<ModelRequest> = {}): ModelRequest {
  return {
    model: 'test-model',
    system: ['You are a test.', 'Be brief.'],
    messages,
    tools: TOOLS,
    toolChoice: 'auto',
    maxOutputTokens: 4096,
    ...more,
  };
}

export function user(text: string): ModelMessage {
  return { role: 'user', content: [{ type: 'text', text }] };
}

export function assistant(...content: readonly AssistantPart[]): ModelMessage {
  return { role: 'assistant', content };
}

export function call(callId: string, providerCallId: string, args = '{"path":"a"}'): AssistantPart {
  return { type: 'tool-call', callId, providerCallId, name: 'read_file', arguments: args };
}

export function result(callId: string, output = 'fine'): ModelMessage {
  return { role: 'tool', callId, name: 'read_file', output, isError: false };
}

export const HELLO = request([user('hello')]);

/** Plays one step to one request. */
export async function ask(dialect: Dialect, step: Step): Promise<Heard> {
  await using server = await dialect.start();
  server.reply(step);
  return await hear(connect(dialect, server), HELLO);
}

/** What a whole call gave. */
interface Heard {
  readonly events: readonly ModelEvent[];
  readonly text: string;
  readonly reasoning: string;
  /** The last event; there is always exactly one end or error. */
  readonly last: Extract<ModelEvent, { type: 'end' | 'error' }>;
}

export async function hear(
  provider: Provider,
  modelRequest: ModelRequest,
  options: { readonly signal?: AbortSignal; readonly onEvent?: (event: ModelEvent) => void } = {},
): Promise<Heard> {
  const events: ModelEvent[] = [];
  const signal = options.signal ?? new AbortController().signal;
  for await (const event of provider.chat(modelRequest, { signal })) {
    events.push(event);
    options.onEvent?.(event);
  }
  const ends = events.filter((event) => event.type === 'end' || event.type === 'error');
  const [last] = ends;
  if (last === undefined || ends.length !== 1 || events.at(-1) !== last) {
    throw new Error(`not exactly one end or error at the end: ${JSON.stringify(events)}`);
  }
  const joined = (type: 'text-delta' | 'reasoning-delta'): string =>
    events.map((event) => (event.type === type ? event.text : '')).join('');
  return { events, text: joined('text-delta'), reasoning: joined('reasoning-delta'), last };
}

export function errorOf(heard: Heard): ModelError {
  if (heard.last.type !== 'error') throw new Error(`expected an error, got ${JSON.stringify(heard.last)}`);
  return heard.last;
}

export function endOf(heard: Heard): Extract<ModelEvent, { type: 'end' }> {
  if (heard.last.type !== 'end') throw new Error(`expected an end, got ${JSON.stringify(heard.last)}`);
  return heard.last;
}
