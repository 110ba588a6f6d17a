import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { askStructured, ToolChoices, type StructuredQuestion } from '../../src/core/agent/side-calls/structured.ts';
import type { ModelErrorKind, ModelEvent, ModelRequest, ModelResponse } from '../../src/core/providers/provider.ts';
import { toAnthropicRequest } from '../../src/extensions/anthropic/messages-request.ts';
import { toOpenAiRequest } from '../../src/extensions/openai/chat-request.ts';
import { OFFICIAL } from '../../src/extensions/openai/chat.ts';
import { validateAnthropicRequest } from '../support/validate-anthropic.ts';
import { validateOpenAiRequest } from '../support/validate-openai.ts';

const schema = z.object({ facts: z.array(z.string()).describe('New facts'), urgent: z.boolean().optional() });
const usage = { input: 10, cached: 0, cacheWrite: 0, output: 1, reasoning: 0 };

type Reply = ModelResponse['content'][number] | { readonly error: ModelErrorKind; readonly message?: string };
const calls = (args: unknown, name = 'save'): Reply => ({
  type: 'tool-call',
  id: 'c',
  name,
  arguments: typeof args === 'string' ? args : JSON.stringify(args),
});
const text = (words: string): Reply => ({ type: 'text', text: words });
const refuses = (message = ''): Reply => ({ error: 'unsupported-tool-choice', message });

/** Asks with a model that gives these replies; returns the answer and how each request chose the tool. */
async function ask(
  replies: readonly Reply[],
  {
    choices = new ToolChoices(),
    model = 'm',
    takesAnyText = false,
  }: { choices?: ToolChoices; model?: string; takesAnyText?: boolean } = {},
): Promise<{
  answer: Awaited<ReturnType<typeof askStructured<typeof schema>>>;
  seen: readonly string[];
  requests: ModelRequest[];
}> {
  const requests: ModelRequest[] = [];
  const chat = async function* (request: ModelRequest): AsyncGenerator<ModelEvent> {
    requests.push(request);
    const reply = replies[requests.length - 1];
    if (reply === undefined) throw new Error('one request too many');
    if ('error' in reply) {
      yield { type: 'error', kind: reply.error, retryable: false, message: reply.message ?? 'no' };
      return;
    }
    yield { type: 'end', stopReason: 'stop', response: { content: [reply], model, usage } };
  };
  const question: StructuredQuestion<typeof schema> = {
    model: { provider: { name: 'p', chat }, providerName: 'p', model },
    system: ['Be exact.'],
    messages: [{ role: 'user', content: [{ type: 'text', text: 'What is new?' }] }],
    schema,
    name: 'save',
    description: 'Saves facts',
    takesAnyText,
    fallback: (words) => (words.startsWith('FACT ') ? { facts: [words.slice(5)] } : undefined),
  };
  const answer = await askStructured(question, { choices, signal: new AbortController().signal });
  const seen = requests.map(({ toolChoice, tools }) =>
    typeof toolChoice === 'object' ? toolChoice.tool : tools.length === 0 ? 'plain' : toolChoice,
  );
  return { answer, seen, requests };
}

describe('a question with an answer of a shape', () => {
  test('is asked with a forced call, and the arguments are the answer', async () => {
    const { answer, seen } = await ask([calls({ facts: ['likes tea'] })]);
    expect(answer).toEqual({ ok: true, value: { facts: ['likes tea'] }, usage });
    expect(seen).toEqual(['save']);
  });

  test.each<[string, Reply]>([
    ['an error of that kind', refuses()],
    ['tool_choice', { error: 'bad-request', message: 'Unknown parameter: tool_choice.' }],
    ['toolchoice', { error: 'bad-request', message: 'Invalid ToolChoice' }],
    ['does not support', { error: 'bad-request', message: 'deepseek-reasoner does not support this' }],
    ['the list of what it takes', { error: 'bad-request', message: 'should be ["none", "auto"]' }],
    [
      'a conflict with thinking',
      { error: 'bad-request', message: 'Thinking may not be enabled when a tool is forced.' },
    ],
  ])('is asked once more with a free choice when the model refuses the forced one: %s', async (_title, refusal) => {
    const { answer, seen } = await ask([refusal, calls({ facts: [] })]);
    expect(answer).toMatchObject({ ok: true, value: { facts: [] } });
    expect(seen).toEqual(['save', 'auto']);
  });

  test('what a model refuses is remembered for it, and for no other', async () => {
    const choices = new ToolChoices();
    await ask([refuses(), calls({ facts: [] })], { choices });
    expect((await ask([calls({ facts: [] })], { choices })).seen).toEqual(['auto']);
    expect((await ask([calls({ facts: [] })], { choices, model: 'other' })).seen).toEqual(['save']);
  });

  test('a refusal of something else is not remembered', async () => {
    const choices = new ToolChoices();
    const { answer } = await ask([{ error: 'bad-request', message: 'The prompt is odd.' }], { choices });
    expect(answer).toMatchObject({ ok: false, reason: 'The prompt is odd.' });
    expect((await ask([calls({ facts: [] })], { choices })).seen).toEqual(['save']);
  });

  test('plain text is read by the caller', async () => {
    expect((await ask([refuses(), text('FACT likes tea')])).answer).toMatchObject({ value: { facts: ['likes tea'] } });
    const { answer, seen } = await ask([refuses(), refuses(), text('<think>hm</think>FACT likes tea')]);
    expect(answer).toMatchObject({ value: { facts: ['likes tea'] } });
    expect(seen).toEqual(['save', 'auto', 'plain']);
  });

  test.each<[string, readonly Reply[]]>([
    ['a forced call', []],
    ['a free choice', [refuses()]],
  ])('text after %s may be chat where any text would do, so it is asked for again', async (_title, before) => {
    const called = await ask([...before, text('FACT chat'), calls({ facts: ['likes tea'] })], { takesAnyText: true });
    expect(called.answer).toMatchObject({ value: { facts: ['likes tea'] } });
    expect(called.seen.at(-1)).toBe('auto');
    const told = await ask([...before, text('FACT chat'), text('FACT likes tea')], { takesAnyText: true });
    expect(told.answer).toMatchObject({ value: { facts: ['likes tea'] } });
  });

  test.each([
    ['its arguments', '{"facts": ["likes tea"]}'],
    ['fenced arguments', '```json\n{"facts": ["likes tea"]}\n```'],
    ['the whole call', '{"name": "save", "arguments": {"facts": ["likes tea"]}}'],
  ])('a call that the model writes as text is a call: %s', async (_title, words) => {
    const { answer, seen } = await ask([text(words)]);
    expect(answer).toMatchObject({ value: { facts: ['likes tea'] } });
    expect(seen).toEqual(['save']);
  });

  test.each<[string, Reply]>([
    ['a wrong field', calls({ facts: 'likes', urgent: 'perhaps' })],
    ['broken JSON', calls('{"facts": [')],
    ['words that nobody can read', text('I do not know.')],
    ['the call of another tool', calls({}, 'other')],
    ['nothing', text('')],
  ])('%s is sent back once with the problem', async (_title, wrong) => {
    const good = await ask([wrong, calls({ facts: ['a'] })]);
    expect(good.answer).toMatchObject({ ok: true, value: { facts: ['a'] }, usage: { input: 20, output: 2 } });
    const bad = await ask([wrong, wrong]);
    expect(bad.answer).toMatchObject({ ok: false, usage: { input: 20 } });
    for (const request of [...good.requests, ...bad.requests]) {
      expect(validateOpenAiRequest(toOpenAiRequest(request, { provider: 'p', quirks: OFFICIAL }))).toEqual([]);
      const target = { provider: 'p', official: true };
      expect(validateAnthropicRequest(toAnthropicRequest(request, target))).toEqual([]);
    }
  });

  test('what is remembered has a bound', () => {
    const choices = new ToolChoices();
    const named = (model: string): StructuredQuestion<typeof schema>['model'] => ({
      provider: { name: 'p', async *chat() {} },
      providerName: 'p',
      model,
    });
    for (let i = 0; i < 500; i += 1) choices.learn(named(`m${i}`), 'free');
    expect(choices.best(named('m0'))).toBe('forced');
    expect(choices.best(named('m499'))).toBe('free');
  });
});

test('no other file forces a choice of tool', () => {
  const src = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'src');
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  const forcing = files.filter((name) => /toolChoice:[^,;\n]*\{\s*tool\b/u.test(readFileSync(join(src, name), 'utf8')));
  expect(forcing).toEqual([join('core', 'agent', 'side-calls', 'structured.ts')]);
});
