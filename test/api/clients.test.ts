import { spawn, type ChildProcess } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AIMessage, HumanMessage, SystemMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import { startApi } from '../support/api-world.ts';
import { builtProgram } from '../support/built-program.ts';
import { startFakeOpenAi } from '../support/fake-openai.ts';
import { freePort } from '../support/free-port.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';

const program = await builtProgram();

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
    await using stack = new AsyncDisposableStack();
    const { path: home } = stack.use(await tempFolder());
    const model = stack.use(await startFakeOpenAi());
    model.reply(
      { text: 'a b c d e f g h i j k l m n o p q r s t u v', chunkSize: 2, eventDelayMs: 200 },
      'Here again.',
    );
    await mkdir(join(home, 'workspace'));
    await writeFile(
      join(home, 'config.json'),
      JSON.stringify({
        agent: { model: 'openai/scripted-model' },
        providers: { openai: { apiKey: 'test-key-0001', baseUrl: model.url } },
        gateway: { port: await freePort() },
      }),
    );
    let child: ChildProcess | undefined;
    stack.defer(() => void child?.kill('SIGKILL'));
    const start = async (): Promise<OpenAI> => {
      child = spawn(process.execPath, [program.main, '--home', home, 'gateway'], {
        stdio: 'ignore',
        env: program.environment(),
      });
      const { gateway } = JSON.parse(await readFile(join(home, 'config.json'), 'utf8')) as {
        gateway: { port: number };
      };
      const base = `http://127.0.0.1:${gateway.port}`;
      await waitFor(async () => (await fetch(`${base}/health`)).ok, { timeoutMs: 60_000, what: 'the gateway' });
      const apiKey = (await readFile(join(home, 'gateway.token'), 'utf8')).trim();
      return new OpenAI({ baseURL: `${base}/v1`, apiKey, maxRetries: 0 });
    };
    const stream = await (await start()).responses.create({ model: 'assistant', input: 'Go.', stream: true });
    let id = '';
    await expect(async () => {
      for await (const event of stream) {
        if (event.type === 'response.created') ({ id } = event.response);
        if (event.type === 'response.output_text.delta') child?.kill('SIGKILL');
      }
    }).rejects.toThrow();
    const again = await start();
    const kept = await waitFor(
      async () => {
        const now = await again.responses.retrieve(id);
        return now.status === 'completed' ? now : null;
      },
      { timeoutMs: 60_000, what: 'the answer' },
    );
    expect(kept.output_text).toBe('Here again.');
  },
);
