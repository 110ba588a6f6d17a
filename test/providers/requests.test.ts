import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { toAnthropicRequest } from '../../src/extensions/anthropic/messages-request.ts';
import { toOpenAiRequest } from '../../src/extensions/openai/chat-request.ts';
import { readExchanges } from '../../src/core/providers/exchanges.ts';
import { toOllamaRequest, type OllamaTarget } from '../../src/extensions/ollama/chat-request.ts';
import { UNKNOWN_MODEL } from '../../src/extensions/ollama/model.ts';
import { toResponsesRequest } from '../../src/extensions/openai/responses-request.ts';
import { PROGRAM } from '../support/extensions.ts';
import * as chat from '../../src/extensions/openai/chat.ts';
import type {
  AssistantPart,
  ModelMessage,
  ModelRequest,
  ReasoningPart,
  ToolChoice,
  UserPart,
} from '../../src/core/providers/provider.ts';
import { validateAnthropicRequest } from '../support/validate-anthropic.ts';
import { validateResponsesRequest } from '../support/validate-openai-responses.ts';
import { validateOpenAiRequest } from '../support/validate-openai.ts';
import { assistant, call, request, result, user } from './dialects.ts';

const OWN = { provider: 'p', model: 'test-model' };
const COMPATIBLE = { provider: 'p', official: false, quirks: chat.COMPATIBLE };
const OFFICIAL = { provider: 'p', official: true, quirks: chat.OFFICIAL };

const MISTRAL = { provider: 'p', quirks: { ...chat.COMPATIBLE, ...PROGRAM.presets.get('mistral')?.quirks } };

const anyText = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('', ' ', '\n', 'hello', '\ud83d', 'a\udc00b'));

const userPart: fc.Arbitrary<UserPart> = fc.oneof(
  anyText.map((text): UserPart => ({ type: 'text', text })),
  fc.constantFrom('image/png', 'image/tiff').map((mediaType): UserPart => ({ type: 'image', mediaType, data: 'AAAA' })),
);

const reasoning: fc.Arbitrary<ReasoningPart> = fc.record({
  type: fc.constant('reasoning'),
  provider: fc.constantFrom('p', 'q'),
  model: fc.constantFrom('test-model', 'other'),
  text: anyText,
  data: fc.constantFrom(
    { type: 'thinking', thinking: 'hm', signature: 'c2ln' },
    { type: 'thinking', thinking: 'hm', signature: '' },
    { type: 'redacted_thinking', data: 'xx' },
    { field: 'reasoning_content', text: 'hm' },
    { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'xx' },
    { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: null },
    { type: 'phase', phase: 'commentary' },
    null,
    'nonsense',
  ),
});

const callDraft = fc.record({
  providerCallId: fc.oneof(
    fc.constantFrom('', 'same', 'call_1', '01T_1', 'functions.x:0', 'é', 'x'.repeat(64)),
    fc.string(),
  ),
  name: fc.oneof(fc.constantFrom('read_file', '', 'functions.read file', 'x'.repeat(100)), anyText),
  arguments: fc.oneof(fc.json(), anyText, fc.constantFrom('{"path":"\\ud83d"}', '[1]', '"x"', 'null')),
  output: anyText,
  isError: fc.boolean(),
  images: fc.array(fc.constant({ type: 'image', mediaType: 'image/png', data: 'AAAA' } as const), { maxLength: 2 }),
});

/** One round: people speak, the model may answer, its calls are answered at once. */
const round = fc.record({
  before: fc.array(fc.array(userPart, { maxLength: 3 }), { minLength: 1, maxLength: 2 }),
  answer: fc.array(
    fc.record({
      words: fc.array(
        fc.oneof(
          anyText.map((text): AssistantPart => ({ type: 'text', text })),
          reasoning,
        ),
        { maxLength: 3 },
      ),
      calls: fc.array(callDraft, { maxLength: 3 }),
    }),
    { maxLength: 3 },
  ),
});

const transcript = fc
  .tuple(fc.array(round, { maxLength: 5 }), fc.array(userPart, { maxLength: 2 }))
  .map(([rounds, last]): readonly ModelMessage[] => {
    let count = 0;
    const answers = rounds.flatMap(({ before, answer }): ModelMessage[] => [
      ...before.map((content): ModelMessage => ({ role: 'user', content })),
      ...answer.flatMap(({ words, calls }): ModelMessage[] => {
        const drafts = calls.map((draft) => ({ ...draft, callId: `01T.${(count += 1)}` }));
        const parts = drafts.map((draft): AssistantPart => ({ type: 'tool-call', ...draft }));
        return [
          { role: 'assistant', content: [...words, ...parts] },
          ...drafts.map((draft): ModelMessage => ({ role: 'tool', ...draft })),
        ];
      }),
    ]);
    return [...answers, { role: 'user', content: last }];
  });

const modelRequest: fc.Arbitrary<ModelRequest> = fc
  .record({
    messages: transcript,
    cut: fc.nat(),
    system: fc.array(anyText, { maxLength: 3 }),
    toolChoice: fc.constantFrom<ToolChoice[]>('auto', 'none', { tool: 'read_file' }),
    maxOutputTokens: fc.constantFrom(1, 1024, 8192),
    temperature: fc.constantFrom(0, 0.7, 1.5, undefined),
    reasoning: fc.constantFrom('off', 'low', 'high', undefined),
  })
  .map(({ messages, cut, temperature, reasoning, ...rest }) =>
    request(shortened(messages, cut), {
      ...rest,
      ...(temperature === undefined ? {} : { temperature }),
      ...(reasoning === undefined ? {} : { reasoning }),
    }),
  );

/** A beginning of the transcript that ends where a model is called. */
function shortened(messages: readonly ModelMessage[], cut: number): readonly ModelMessage[] {
  const ends = messages.flatMap((message, index) =>
    message.role !== 'assistant' && messages[index + 1]?.role !== 'tool' ? [index + 1] : [],
  );
  return messages.slice(0, ends[cut % ends.length]);
}

describe('every legal transcript makes a legal request', () => {
  test.each([
    ['of its own', OFFICIAL],
    ['of others', COMPATIBLE],
  ])('to the Messages API %s', (_title, target) => {
    fc.assert(
      fc.property(modelRequest, (random) => {
        expect(validateAnthropicRequest(wire(toAnthropicRequest(random, target)))).toEqual([]);
      }),
      { numRuns: 600 },
    );
  });

  test.each([
    ['of OpenAI', OFFICIAL],
    ['of others', COMPATIBLE],
    ['of Mistral', MISTRAL],
  ])('to Chat Completions %s', (_title, target) => {
    fc.assert(
      fc.property(modelRequest, (random) => {
        expect(validateOpenAiRequest(wire(toOpenAiRequest(random, target)), [])).toEqual([]);
      }),
      { numRuns: 400 },
    );
  });

  test('to the Responses API', () => {
    fc.assert(
      fc.property(modelRequest, (random) => {
        expect(validateResponsesRequest(wire(toResponsesRequest(random, 'p')))).toEqual([]);
      }),
      { numRuns: 400 },
    );
  });

  test("to Mistral with its kind of ids and an answer between results and a person's words", () => {
    fc.assert(
      fc.property(modelRequest, (random) => {
        const { messages } = toOpenAiRequest(random, MISTRAL);
        const ids = messages.flatMap((message) =>
          message.role === 'assistant' ? (message.tool_calls ?? []).map(({ id }) => id) : [],
        );
        for (const id of ids) expect(id).toMatch(/^[A-Za-z0-9]{9}$/u);
        for (const [index, message] of messages.entries()) {
          if (message.role === 'user') expect(messages[index - 1]?.role).not.toBe('tool');
        }
      }),
      { numRuns: 200 },
    );
  });

  test('and it begins like the request before it', () => {
    fc.assert(
      fc.property(transcript, fc.nat(), (messages, cut) => {
        const before = shortened(messages, cut);
        // The newest user message may still grow; everything before it is settled.
        const settled = before.slice(0, before.findLastIndex(({ role }) => role === 'assistant') + 1);
        const count = blocksOf(settled).length;
        expect(blocksOf(messages).slice(0, count)).toEqual(blocksOf(before).slice(0, count));
      }),
      { numRuns: 300 },
    );
  });
});

const OLLAMA: OllamaTarget = { provider: 'p', model: UNKNOWN_MODEL, window: null };

describe('a conversation that grows', () => {
  test.each<[string, (request: ModelRequest) => unknown]>([
    ['the Messages API', (request) => toAnthropicRequest(request, OFFICIAL)],
    ['Chat Completions', (request) => toOpenAiRequest(request, COMPATIBLE)],
    ['Chat Completions of Mistral', (request) => toOpenAiRequest(request, MISTRAL)],
    ['the Responses API', (request) => toResponsesRequest(request, 'p')],
    ['Ollama', (request) => toOllamaRequest(request, OLLAMA)],
  ])('gives %s the bytes that it gives when it is read as a whole', (_title, body) => {
    fc.assert(
      fc.property(transcript, fc.array(fc.nat(), { maxLength: 6 }), (messages, cuts) => {
        const lengths = cuts.map((cut) => shortened(messages, cut).length).toSorted((a, b) => a - b);
        for (const length of [...lengths, messages.length, ...lengths.slice(0, 1)]) {
          const grown = messages.slice(0, length);
          expect(JSON.stringify(body(request(grown)))).toBe(JSON.stringify(body(request(structuredClone(grown)))));
        }
      }),
      { numRuns: 200 },
    );
  });

  test('is read only from its last exchange on', () => {
    const reader = { provider: 'p', model: 'test-model', legalId: /^.+$/u };
    const messages = [user('one'), assistant(call('t.1', 'a')), result('t.1'), user('two')];
    const first = readExchanges(messages, reader).exchanges;
    const second = readExchanges([...messages, assistant({ type: 'text', text: 'three' })], reader).exchanges;
    expect(first).toHaveLength(2);
    expect(second).toHaveLength(3);
    expect(second[0]).toBe(first[0]);
    expect(second[1]).toEqual(first[1]);
  });

  test('keeps no bytes of images', () => {
    const reader = { provider: 'p', model: 'test-model', legalId: /^.+$/u };
    const image: ModelMessage = { role: 'user', content: [{ type: 'image', mediaType: 'image/png', data: 'AAAA' }] };
    const messages = [image, assistant({ type: 'text', text: 'seen' }), user('two')];
    const [first] = readExchanges(messages, reader).exchanges;
    expect(readExchanges(messages, reader).exchanges[0]).not.toBe(first);
  });
});

function wire(body: unknown): unknown {
  return JSON.parse(JSON.stringify(body));
}

function blocksOf(messages: readonly ModelMessage[]): readonly string[] {
  return toOpenAiRequest(request(messages), COMPATIBLE).messages.map((message) => JSON.stringify(message));
}

describe('Anthropic requests', () => {
  const rounds = [
    user('one'),
    assistant(call('t.1', 'a')),
    result('t.1'),
    assistant({ type: 'text', text: 'ok' }),
    user('two'),
  ];

  test('bear four cache marks: tools, system, where the request before ended, the newest block', () => {
    const body = toAnthropicRequest(request(rounds), OFFICIAL);
    const mark = { cache_control: { type: 'ephemeral' } };
    expect(body.tools?.at(-1)).toMatchObject(mark);
    expect(body.system).toMatchObject([{ text: 'You are a test.\n\n---\n\nBe brief.', ...mark }]);
    expect(body.messages).toMatchObject([
      { role: 'user' },
      { role: 'assistant' },
      { role: 'user', content: [{ type: 'tool_result', ...mark }] },
      { role: 'assistant' },
      { role: 'user', content: [{ type: 'text', text: 'two', ...mark }] },
    ]);
    expect(JSON.stringify(body).split('cache_control')).toHaveLength(5);
  });

  test('replay thinking word for word with its signature', () => {
    const block = { type: 'thinking', thinking: 'hm \ud83d', signature: 'c2ln' };
    const part = { type: 'reasoning', ...OWN, text: 'hm', data: block } as const;
    const body = toAnthropicRequest(request([user('go'), assistant(part, call('t.1', 'a')), result('t.1')]), OFFICIAL);
    expect(body.messages[1]?.content).toMatchObject([block, { type: 'tool_use' }]);
  });

  test("think as Anthropic's own models want it, or by a budget elsewhere, and never with a forced tool", () => {
    const thinking = { reasoning: 'medium', maxOutputTokens: 8192, temperature: 0.5 } as const;
    const own = toAnthropicRequest(request([user('go')], thinking), OFFICIAL);
    expect(own).toMatchObject({ thinking: { type: 'adaptive' }, output_config: { effort: 'medium' } });
    const other = toAnthropicRequest(request([user('go')], thinking), COMPATIBLE);
    expect(other).toMatchObject({ thinking: { type: 'enabled', budget_tokens: 4096 } });
    const forced = toAnthropicRequest(
      request([user('go')], { ...thinking, toolChoice: { tool: 'read_file' } }),
      OFFICIAL,
    );
    expect(forced).not.toHaveProperty('thinking');
    for (const body of [own, other, forced]) expect(body).not.toHaveProperty('temperature');
  });

  test('put steered words after tool results in one message', () => {
    const body = toAnthropicRequest(
      request([user('go'), assistant(call('t.1', 'a')), result('t.1'), user('wait')]),
      OFFICIAL,
    );
    expect(body.messages[2]?.content).toMatchObject([{ type: 'tool_result' }, { type: 'text', text: 'wait' }]);
  });
});

describe('OpenAI requests', () => {
  test('name the limit as the server knows it', () => {
    const official = toOpenAiRequest(request([user('go')]), OFFICIAL);
    expect(official).toMatchObject({ max_completion_tokens: 4096 });
    expect(official).not.toHaveProperty('max_tokens');
    expect(toOpenAiRequest(request([user('go')]), COMPATIBLE)).toMatchObject({ max_tokens: 4096 });
  });

  test('send texts as one string and lists only for images', () => {
    const two = toOpenAiRequest(request([user('one'), user('two')]), OFFICIAL);
    expect(two.messages.at(-1)).toEqual({ role: 'user', content: 'one\n\ntwo' });
  });

  test('hold no two equal messages of the user: Mistral templates would show the tools before each of them', () => {
    const said = ['yes', 'no', 'yes', 'yes'].flatMap((text) => [user(text), assistant({ type: 'text', text: 'ok' })]);
    const { messages } = toOpenAiRequest(request(said), COMPATIBLE);
    const texts = messages.filter(({ role }) => role === 'user').map(({ content }) => content);
    expect(texts).toEqual(['yes', 'no', 'yes\n', 'yes\n\n']);
  });

  test('send reasoning back in the field it came in', () => {
    const part = { type: 'reasoning', ...OWN, text: 'hm', data: { field: 'reasoning', text: 'hm' } } as const;
    const body = toOpenAiRequest(
      request([user('go'), assistant(part, { type: 'text', text: 'ok' }), user('on')]),
      COMPATIBLE,
    );
    expect(body.messages[2]).toEqual({ role: 'assistant', content: 'ok', reasoning: 'hm' });
  });

  test('keep ids that are odd but legal here', () => {
    const messages = [user('go'), assistant(call('t.1', 'functions.read_file:0')), result('t.1')];
    expect(JSON.stringify(toOpenAiRequest(request(messages), COMPATIBLE))).toContain(
      '"tool_call_id":"functions.read_file:0"',
    );
  });
});
