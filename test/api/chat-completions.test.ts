import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startApi, type ApiWorld } from '../support/api-world.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER } from '../support/world.ts';

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const hello = { model: 'assistant', messages: [{ role: 'user', content: 'Hello?' }] } as const;

const lastBody = ({ world }: ApiWorld): string => world.model.requests.at(-1)?.text ?? '';
const tapes = ({ world }: ApiWorld): Promise<string[]> => readdir(join(world.home, 'sessions'));

describe('POST /v1/chat/completions', () => {
  test('answers with the assistant, in the shape of a chat completion, with the tokens of the turn', async () => {
    await using api = await startApi();
    api.world.model.reply({ text: 'Hello there.', usage: { input: 20, cached: 7, output: 3 } });
    const completion = await (await api.client()).chat.completions.create({ ...hello, messages: [...hello.messages] });
    expect(completion).toMatchObject({
      object: 'chat.completion',
      model: 'assistant',
      choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Hello there.' } }],
      usage: { prompt_tokens: 27, completion_tokens: 3, total_tokens: 30, prompt_tokens_details: { cached_tokens: 7 } },
    });
    expect(api.world.model.requests[0]?.view.tools).toContain('exec');
  });

  test('streams the answer as it grows, and the tokens at its end where they are asked for', async () => {
    await using api = await startApi();
    api.world.model.reply({ text: 'One two three four five six seven eight.', chunkSize: 5, eventDelayMs: 10 });
    const stream = await (
      await api.client()
    ).chat.completions.create({
      ...hello,
      messages: [...hello.messages],
      stream: true,
      stream_options: { include_usage: true },
    });
    const deltas: string[] = [];
    let usage: unknown;
    let finish: unknown;
    for await (const chunk of stream) {
      const text = chunk.choices[0]?.delta.content ?? '';
      if (text !== '') deltas.push(text);
      finish ??= chunk.choices[0]?.finish_reason;
      usage = chunk.usage ?? usage;
    }
    expect(deltas.join('')).toBe('One two three four five six seven eight.');
    expect(deltas.length).toBeGreaterThan(1);
    expect({ finish, usage }).toMatchObject({ finish: 'stop', usage: { prompt_tokens: 10, completion_tokens: 5 } });
  });

  test('says all that the model said: what came before a tool call stands above the rest, streamed or not', async () => {
    await using api = await startApi();
    await writeFile(join(api.world.workspace, 'a.txt'), 'the note');
    const script = [
      { text: 'Let me look.', calls: [{ name: 'read_file', arguments: { path: 'a.txt' } }] },
      { text: 'It says: the note.' },
    ];
    api.world.model.reply(...script, ...script);
    const client = await api.client();
    const whole = await client.chat.completions.create({ ...hello, messages: [...hello.messages] });
    const stream = await client.chat.completions.create({ ...hello, messages: [...hello.messages], stream: true });
    let streamed = '';
    for await (const chunk of stream) streamed += chunk.choices[0]?.delta.content ?? '';
    expect(whole.choices[0]?.message.content).toBe('Let me look.\n\nIt says: the note.');
    expect(streamed).toBe('Let me look.\n\nIt says: the note.');
  });

  test('takes the whole of messages as the conversation: system texts, answers, images, results of foreign tools', async () => {
    await using api = await startApi();
    api.world.model.reply('Blue.');
    const response = await api.post('/v1/chat/completions', {
      model: 'assistant',
      temperature: 0.1,
      max_tokens: 5,
      some_new_parameter: { x: 1 },
      tools: [{ type: 'function', function: { name: 'weather', parameters: {} } }],
      tool_choice: 'auto',
      messages: [
        { role: 'system', content: 'Speak like a painter.' },
        { role: 'user', content: [{ type: 'text', text: 'Look at this.' }, image(PNG)] },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: '1', type: 'function', function: { name: 'weather', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: '1', content: 'rain in Rome' },
        { role: 'assistant', content: 'A grey dot.' },
        { role: 'user', content: [{ type: 'text', text: 'And this?' }, image(PNG)] },
      ],
    });
    expect(response.status).toBe(200);
    const request = api.world.model.requests[0];
    expect(request?.view.system).toContain('Speak like a painter.');
    const said = JSON.stringify(request?.body['messages']);
    for (const part of ['Look at this.', 'A grey dot.', 'And this?', 'rain in Rome', '<untrusted'])
      expect(said).toContain(part);
    expect(said.split(PNG).length - 1).toBe(2);
  });

  test('of a session that is named only the newest message counts, and the conversation is the session’s', async () => {
    await using api = await startApi();
    api.world.model.reply('Noted.', 'It was 7.');
    const named = { 'X-Assistant-Session': 'kitchen' };
    await api.post(
      '/v1/chat/completions',
      { model: 'assistant', messages: [{ role: 'user', content: 'Keep 7.' }] },
      named,
    );
    const second = await api.post('/v1/chat/completions', {
      model: 'assistant',
      metadata: { session: 'kitchen' },
      messages: [
        { role: 'user', content: 'something else entirely' },
        { role: 'assistant', content: 'made up' },
        { role: 'user', content: 'Which number?' },
      ],
    });
    expect(await second.json()).toMatchObject({ choices: [{ message: { content: 'It was 7.' } }] });
    expect(lastBody(api)).toContain('Keep 7.');
    expect(lastBody(api)).not.toContain('made up');
    expect(await tapes(api)).toContain('api%3akitchen.jsonl');
  });

  test('assistant-light has no tools and a prompt of its own, with what the program says', async () => {
    await using api = await startApi();
    api.world.model.reply('A title');
    await api.post('/v1/chat/completions', {
      model: 'assistant-light',
      messages: [
        { role: 'system', content: 'Titles have two words.' },
        { role: 'user', content: 'Write a title.' },
      ],
    });
    const view = api.world.model.requests[0]?.view;
    expect(view?.tools).toEqual([]);
    expect(view?.system).toContain('Titles have two words.');
    expect(view?.system.length).toBeLessThan(600);
  });

  test('a conversation without a session offers no tool that leaves something behind, and refuses it when it is called', async () => {
    await using api = await startApi();
    api.world.model.reply(
      { calls: [{ name: 'memory_write', arguments: { fact: 'The owner likes tea.' } }] },
      'I could not.',
    );
    await api.post('/v1/chat/completions', hello);
    const offered = api.world.model.requests[0]?.view.tools ?? [];
    for (const tool of ['memory_write', 'tape', 'cron', 'spawn', 'ask_user']) expect(offered).not.toContain(tool);
    expect(offered).toContain('web_fetch');
    expect(lastBody(api)).toContain('kept by a program');
    const memory = await readFile(join(api.world.workspace, 'memory', 'MEMORY.md'), 'utf8').catch(() => '');
    expect(memory).not.toContain('tea');
    expect(await api.world.assistant.call('sessionsList', { limit: 5 })).toMatchObject({ sessions: [] });
  });

  test('what needs a yes is refused when no chat is named for it', async () => {
    await using api = await startApi({ config: { tools: { exec: { mode: 'ask', sandbox: 'off' } } } });
    api.world.telegram.userSays(OWNER, 'hi');
    api.world.model.reply('Hi.');
    await waitFor(() => chatOf(api.world).includes('Hi.'));
    api.world.model.reply({ calls: [{ name: 'exec', arguments: { command: 'touch made.txt' } }] }, 'Not allowed.');
    await api.post('/v1/chat/completions', hello);
    expect(lastBody(api)).toContain('named no chat of the owner');
    expect(chatOf(api.world)).toEqual(['Hi.']);
  });

  test('what needs a yes is asked in the chat that is named, where the owner answers', async () => {
    await using api = await startApi({ config: { tools: { exec: { mode: 'ask', sandbox: 'off' } } } });
    api.world.telegram.userSays(OWNER, 'hi');
    api.world.model.reply('Hi.');
    await waitFor(() => chatOf(api.world).includes('Hi.'));
    api.world.model.reply({ calls: [{ name: 'exec', arguments: { command: 'touch made.txt' } }] }, 'Made.');
    const answer = api.post('/v1/chat/completions', hello, { 'X-Assistant-Ask': `telegram:${OWNER}` });
    const question = await waitFor(() => chatOf(api.world).find((text) => text.includes('/approve ')));
    api.world.telegram.userSays(OWNER, `/approve ${/\/approve (\w+)/u.exec(question)?.[1] ?? ''}`);
    expect(await (await answer).json()).toMatchObject({ choices: [{ message: { content: 'Made.' } }] });
    expect(await readdir(api.world.workspace)).toContain('made.txt');
  });

  test('what was not done is named below the answer, also in a stream, but not below JSON that was asked for', async () => {
    await using api = await startApi();
    const client = await api.client();
    const headers = { 'X-Assistant-Session': 'reports' };
    const ask = { ...hello, messages: [...hello.messages] };
    const step = { calls: [{ name: 'write_file', arguments: { path: '/etc/a', content: 'x' } }] };
    api.world.model.reply(step, 'Done.', step, 'Done.', step, '{"ok":true}');
    const whole = 'Done.\n\nNot done: writing `/etc/a` was refused.';
    const plain = await client.chat.completions.create(ask, { headers });
    expect(plain.choices[0]?.message.content).toBe(whole);
    let text = '';
    const stream = await client.chat.completions.create({ ...ask, stream: true }, { headers });
    for await (const { choices } of stream) text += choices[0]?.delta.content ?? '';
    expect(text).toBe(whole);
    const json = { ...ask, response_format: { type: 'json_object' as const } };
    const formed = await client.chat.completions.create(json, { headers });
    expect(formed.choices[0]?.message.content).toBe('{"ok":true}');
  });

  test('words that are commands elsewhere are words here', async () => {
    await using api = await startApi();
    api.world.model.reply('one', 'two', 'three');
    for (const content of ['/new', 'stop', ',exec ls']) {
      const response = await api.post('/v1/chat/completions', {
        model: 'assistant',
        messages: [{ role: 'user', content }],
      });
      expect(response.status).toBe(200);
    }
    expect(api.world.model.requests).toHaveLength(3);
  });

  test('the same Idempotency-Key is one turn, whose answer comes again', async () => {
    await using api = await startApi();
    api.world.model.reply('Once.');
    const key = { 'Idempotency-Key': 'a-key' };
    const first: unknown = await (await api.post('/v1/chat/completions', hello, key)).json();
    const again: unknown = await (await api.post('/v1/chat/completions', hello, key)).json();
    expect(again).toMatchObject({ choices: [{ message: { content: 'Once.' } }] });
    expect(api.world.model.requests).toHaveLength(1);
    expect(again).toMatchObject({ id: (first as { id: string }).id });
  });

  test('the turn of a client that goes away is stopped, and with a session it goes on', async () => {
    await using api = await startApi();
    const slow = { text: 'a b c d e f g h i j k l m n o p q r s t u v w x y z', chunkSize: 2, eventDelayMs: 40 };
    api.world.model.reply(slow, slow);
    const client = await api.client();
    const gone = await client.chat.completions.create({ ...hello, messages: [...hello.messages], stream: true });
    for await (const chunk of gone) if ((chunk.choices[0]?.delta.content ?? '') !== '') break;
    await waitFor(() => api.world.model.requests[0]?.clientGone, { what: 'the model call to be cut' });
    const kept = await client.chat.completions.create(
      { ...hello, messages: [...hello.messages], stream: true },
      { headers: { 'X-Assistant-Session': 'kept' } },
    );
    for await (const chunk of kept) if ((chunk.choices[0]?.delta.content ?? '') !== '') break;
    await waitFor(async () =>
      (await api.world.tape('api:kept')).some((entry) => entry.kind === 'turn-end' && entry.outcome === 'answered'),
    );
  });
});

describe('errors', () => {
  test('are in the shape of OpenAI’s API, each with a sentence that says what to do', async () => {
    await using api = await startApi();
    const cases: readonly [unknown, number, RegExp, Record<string, string>?][] = [
      [{ ...hello, model: 'gpt-4o' }, 404, /There are: assistant, assistant-light/u],
      [{ model: 'assistant' }, 400, /messages/u],
      [
        { model: 'assistant', messages: [{ role: 'assistant', content: 'x' }] },
        400,
        /last message must be one of the user/u,
      ],
      [{ model: 'assistant', messages: [{ role: 'user', content: ' ' }] }, 400, /empty/u],
      [{ ...hello, tool_choice: 'required' }, 400, /tool_choice/u],
      [
        { model: 'assistant', messages: [{ role: 'user', content: [image('x', 'https://a.example/b.png')] }] },
        400,
        /data: addresses only/u,
      ],
      [{ model: 'assistant', messages: [{ role: 'user', content: [image('bm90IGFuIGltYWdl')] }] }, 400, /PNG, JPEG/u],
      [{ model: 'assistant', messages: [{ role: 'user', content: [{ type: 'input_audio' }] }] }, 400, /input_audio/u],
      [hello, 400, /begin with a letter/u, { 'X-Assistant-Session': '~x' }],
      [hello, 400, /telegram:123456789/u, { 'X-Assistant-Ask': 'nowhere' }],
    ];
    for (const [body, status, words, headers] of cases) {
      const response = await api.post('/v1/chat/completions', body, headers ?? {});
      expect(response.status).toBe(status);
      expect(await response.json()).toEqual({
        error: {
          message: expect.stringMatching(words),
          type: 'invalid_request_error',
          param: expect.toSatisfy(nullOrText),
          code: expect.toSatisfy(nullOrText),
        },
      });
    }
    expect(api.world.model.requests).toHaveLength(0);
  });

  test('a model that fails is an error of the server that says why, also in a stream', async () => {
    await using api = await startApi();
    api.world.model.reply(
      { error: { status: 400, message: 'no such model' } },
      { error: { status: 400, message: 'no such model' } },
    );
    const response = await api.post('/v1/chat/completions', hello);
    expect([response.status, response.headers.get('x-should-retry')]).toEqual([502, 'false']);
    expect(await response.json()).toMatchObject({ error: { type: 'server_error', code: 'turn_failed' } });
    const client = await api.client();
    const stream = await client.chat.completions.create({ ...hello, messages: [...hello.messages], stream: true });
    await expect(async () => {
      for await (const _ of stream);
    }).rejects.toThrow(/model/u);
  });
});

function image(data: string, url = `data:image/png;base64,${data}`): object {
  return { type: 'image_url', image_url: { url } };
}

function nullOrText(value: unknown): boolean {
  return value === null || typeof value === 'string';
}
