import type { OpenAI } from 'openai';
import { describe, expect, test } from 'vitest';
import { createOpenAiResponsesProvider } from '../../src/extensions/openai/responses.ts';
import { fromResponsesEvents } from '../../src/extensions/openai/responses-events.ts';
import { toResponsesRequest } from '../../src/extensions/openai/responses-request.ts';
import type { ModelEvent } from '../../src/core/providers/provider.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { startFakeOpenAiResponses } from '../support/fake-openai-responses.ts';
import { assistant, call, endOf, errorOf, hear, HELLO, request, result, user } from './dialects.ts';

const CONTEXT = {
  provider: 'p',
  host: null,
  model: 'asked',
  toolChoice: 'auto',
  keyVariable: null,
  secrets: [],
  now: 0,
} as const;

/** Reads events as compatible servers send them, which is not always as the types have it. */
async function read(events: readonly unknown[]): Promise<ModelEvent | undefined> {
  async function* stream(): AsyncGenerator<OpenAI.Responses.ResponseStreamEvent> {
    for (const event of events) yield event as OpenAI.Responses.ResponseStreamEvent;
    await Promise.resolve();
  }
  let last: ModelEvent | undefined;
  for await (const event of fromResponsesEvents(stream(), CONTEXT)) last = event;
  return last;
}

const message = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'ok' }] };

describe('a request', () => {
  test('keeps nothing on the server and asks for thoughts as something that can be sent back', () => {
    expect(toResponsesRequest(request([user('go')], { reasoning: 'low' }), 'p')).toMatchObject({
      instructions: 'You are a test.\n\n---\n\nBe brief.',
      input: [{ role: 'user', content: 'go' }],
      store: false,
      include: ['reasoning.encrypted_content'],
      reasoning: { effort: 'low', summary: 'auto' },
      max_output_tokens: 4096,
    });
  });

  test('names a forced tool in its own way', () => {
    const { tool_choice } = toResponsesRequest(request([user('go')], { toolChoice: { tool: 'read_file' } }), 'p');
    expect(tool_choice).toEqual({ type: 'function', name: 'read_file' });
  });

  test('holds calls and results as items of their own, images in the results', () => {
    const image = { type: 'image', mediaType: 'image/png', data: 'AAAA' } as const;
    const { input } = toResponsesRequest(
      request([
        user('go'),
        assistant({ type: 'text', text: 'Looking.' }, call('t.1', 'c1')),
        { role: 'tool', callId: 't.1', name: 'read_file', output: 'a picture', isError: false, images: [image] },
      ]),
      'p',
    );
    expect(input).toMatchObject([
      { role: 'user' },
      { role: 'assistant', content: 'Looking.' },
      { type: 'function_call', call_id: 'c1', name: 'read_file', arguments: '{"path":"a"}' },
      { type: 'function_call_output', call_id: 'c1', output: [{ type: 'input_text' }, { type: 'input_image' }] },
    ]);
  });

  test('leaves out thoughts that led to nothing', () => {
    const data = { type: 'reasoning', id: 'rs', summary: [], encrypted_content: 'x' };
    const thought = { type: 'reasoning', provider: 'p', model: 'test-model', text: '', data } as const;
    const { input } = toResponsesRequest(request([user('a'), assistant(thought), user('b')]), 'p');
    expect(input).toEqual([
      { role: 'user', content: 'a' },
      { role: 'assistant', content: '(no text)' },
      { role: 'user', content: 'b' },
    ]);
  });
});

test('thoughts and the phase of a text go back as they came', async () => {
  await using server = await startFakeOpenAiResponses();
  const provider = createOpenAiResponsesProvider({ name: 'p', apiKey: 'k', baseUrl: server.url, clock: systemClock });
  server.reply({ reasoning: 'Hm.', text: 'Looking.', calls: [{ id: 'c1', name: 'read_file', arguments: {} }] }, 'ok');
  const { response } = endOf(await hear(provider, HELLO));
  const said = response.content.flatMap((part) => (part.type === 'tool-call' ? [] : [part]));
  endOf(await hear(provider, request([user('hello'), assistant(...said, call('t.1', 'c1')), result('t.1')])));
  expect(server.requests[1]?.body['input']).toMatchObject([
    { role: 'user' },
    { type: 'reasoning', id: 'rs_0', encrypted_content: Buffer.from('Hm.').toString('base64') },
    { role: 'assistant', content: 'Looking.', phase: 'final_answer' },
    { type: 'function_call' },
    { type: 'function_call_output' },
  ]);
});

describe('an answer', () => {
  test('that comes only in the last event is whole', async () => {
    const last = await read([{ type: 'response.completed', response: { status: 'completed', output: [message] } }]);
    expect(last).toMatchObject({
      type: 'end',
      stopReason: 'stop',
      response: { content: [{ text: 'ok' }], usage: null },
    });
  });

  test('whose call was never announced is a call all the same', async () => {
    const item = { type: 'function_call', call_id: 'c', name: 'read_file', arguments: '{}' };
    const last = await read([
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response: { status: 'completed' } },
    ]);
    expect(last).toMatchObject({ stopReason: 'tool-calls', response: { content: [{ type: 'tool-call', id: 'c' }] } });
  });

  test('that is a refusal says so', async () => {
    const item = { type: 'message', content: [{ type: 'refusal', refusal: 'No.' }] };
    const last = await read([
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response: { status: 'completed' } },
    ]);
    expect(last).toMatchObject({ stopReason: 'refusal', response: { content: [{ text: 'No.' }] } });
  });

  test('that failed is told by its code', async () => {
    await using server = await startFakeOpenAiResponses();
    const failed = (error: object): string =>
      `event: response.failed\ndata: ${JSON.stringify({ type: 'response.failed', response: { error } })}`;
    server.reply(
      { raw: [failed({ code: 'rate_limit_exceeded', message: 'Slow down.' })] },
      { raw: [failed({ code: 'server_error', message: 'Oops.' })] },
      { raw: [failed({ code: 'context_length_exceeded', message: 'Too long.' })] },
    );
    const provider = createOpenAiResponsesProvider({ name: 'p', apiKey: 'k', baseUrl: server.url, clock: systemClock });
    const kinds = [];
    for (let n = 0; n < 3; n += 1) kinds.push(errorOf(await hear(provider, HELLO)).kind);
    expect(kinds).toEqual(['rate-limit', 'overloaded', 'context-overflow']);
  });
});
