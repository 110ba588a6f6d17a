import { AIMessage, HumanMessage, SystemMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import { startApi } from '../support/api-world.ts';
import { startKilledGateway } from '../support/killed-gateway.ts';
import { waitFor } from '../support/wait.ts';

describe('LangChain', () => {
  test.each([false, true])('holds a conversation, with the Responses API: %s', async (useResponsesApi) => {
    await using api = await startApi();
    api.world.model.reply('Noted.', 'It was 7.');
    const model = new ChatOpenAI({
      model: 'assistant',
      apiKey: api.token,
      useResponsesApi,
      temperature: 0,
      maxRetries: 0,
      configuration: { baseURL: `${await api.base()}/v1` },
    });
    const talk = [new SystemMessage('Be brief.'), new HumanMessage('Keep 7.')];
    const first = await model.invoke(talk);
    expect(first.text).toBe('Noted.');
    expect(first).toMatchObject({ usage_metadata: { total_tokens: 15 } });
    let streamed = '';
    for await (const chunk of await model.stream([...talk, new AIMessage(first.text), new HumanMessage('Which?')])) {
      streamed += chunk.text;
    }
    expect(streamed).toBe('It was 7.');
    expect(api.world.model.requests[1]?.text).toContain('Keep 7.');
  });
});

test('fifty conversations at once each get their own answer', { timeout: 180_000 }, async () => {
  await using api = await startApi();
  api.world.model.setHandler(({ view }) => `answer to ${/number \d+/u.exec(view.lastUserText)?.[0] ?? ''}`);
  const client = await api.client();
  const answers = await Promise.all(
    Array.from({ length: 50 }, async (_, n) => {
      const content = `number ${n}`;
      if (n % 2 === 0) {
        const whole = await client.chat.completions.create({
          model: 'assistant',
          messages: [{ role: 'user', content }],
        });
        return whole.choices[0]?.message.content;
      }
      let text = '';
      for await (const event of await client.responses.create({ model: 'assistant', input: content, stream: true })) {
        if (event.type === 'response.output_text.delta') text += event.delta;
      }
      return text;
    }),
  );
  expect(answers).toEqual(Array.from({ length: 50 }, (_, n) => `answer to number ${n}`));
});

test(
  'a response whose gateway is killed in the middle of the stream is there after the next start',
  { timeout: 120_000 },
  async () => {
    await using gateway = await startKilledGateway();
    gateway.model.reply(
      { text: 'a b c d e f g h i j k l m n o p q r s t u v', chunkSize: 2, eventDelayMs: 200 },
      'Here again.',
    );
    const client = new OpenAI({ baseURL: `${gateway.address}/v1`, apiKey: await gateway.token(), maxRetries: 0 });
    const stream = await client.responses.create({ model: 'assistant', input: 'Go.', stream: true });
    let id = '';
    await expect(async () => {
      for await (const event of stream) {
        if (event.type === 'response.created') ({ id } = event.response);
        if (event.type === 'response.output_text.delta') await gateway.kill();
      }
    }).rejects.toThrow();
    await gateway.start();
    const kept = await waitFor(
      async () => {
        const now = await client.responses.retrieve(id);
        return now.status === 'completed' ? now : null;
      },
      { timeoutMs: 60_000, what: 'the answer' },
    );
    expect(kept.output_text).toBe('Here again.');
  },
);
