import { describe, expect, test } from 'vitest';
import { startApi } from '../support/api-world.ts';
import { waitFor } from '../support/wait.ts';

describe('POST /v1/responses', () => {
  test('answers with the assistant; the id of a response is its conversation for the next', async () => {
    await using api = await startApi();
    api.world.model.reply('Noted.', 'It was 7.');
    const client = await api.client();
    const first = await client.responses.create({ model: 'assistant', input: 'Keep 7.', instructions: 'Be brief.' });
    expect(first).toMatchObject({
      status: 'completed',
      output_text: 'Noted.',
      usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
    });
    expect(api.world.model.requests[0]?.view.system).toContain('Be brief.');
    const second = await client.responses.create({
      model: 'assistant',
      input: [{ role: 'user', content: [{ type: 'input_text', text: 'Which number?' }] }],
      previous_response_id: first.id,
    });
    expect(second).toMatchObject({ output_text: 'It was 7.', previous_response_id: first.id });
    expect(api.world.model.requests[1]?.text).toContain('Keep 7.');
    expect(await client.responses.retrieve(second.id)).toMatchObject({ id: second.id, output_text: 'It was 7.' });
  });

  test('streams events in order, each with its number, and the whole response at the end', async () => {
    await using api = await startApi();
    api.world.model.reply({ text: 'One two three four five six.', chunkSize: 5, eventDelayMs: 10 });
    const stream = await (await api.client()).responses.create({ model: 'assistant', input: 'Count.', stream: true });
    const types: string[] = [];
    let text = '';
    let number = -1;
    for await (const event of stream) {
      if (types.at(-1) !== event.type) types.push(event.type);
      expect(event.sequence_number).toBe(number + 1);
      number = event.sequence_number;
      if (event.type === 'response.output_text.delta') text += event.delta;
      if (event.type === 'response.completed') expect(event.response.output[0]).toMatchObject({ content: [{ text }] });
    }
    expect(text).toBe('One two three four five six.');
    expect(types).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ]);
  });

  test('belongs to the session that is named by conversation, header or metadata', async () => {
    await using api = await startApi();
    api.world.model.reply('a', 'b', 'c');
    const body = { model: 'assistant', input: 'Hello.' };
    await api.post('/v1/responses', { ...body, conversation: 'desk' });
    await api.post('/v1/responses', { ...body, metadata: { session: 'desk' } });
    const third: unknown = await (await api.post('/v1/responses', body, { 'X-Assistant-Session': 'desk' })).json();
    expect(api.world.model.requests[2]?.view.messageCount).toBe(6);
    const { id } = third as { id: string };
    expect(await (await api.ask(`/v1/responses/${id}`)).json()).toMatchObject({ id, status: 'completed' });
  });

  test('in the background is answered at once, and fetched when it is done', async () => {
    await using api = await startApi();
    api.world.model.reply({ text: 'Done.', delayMs: 100 });
    const client = await api.client();
    const begun = await client.responses.create({ model: 'assistant', input: 'Work.', background: true });
    expect(begun.status).toBe('queued');
    const done = await waitFor(async () => {
      const now = await client.responses.retrieve(begun.id);
      return now.status === 'completed' ? now : null;
    });
    expect(done.output_text).toBe('Done.');
  });

  test('of a client that goes away goes on, and its answer is fetched by its id', async () => {
    await using api = await startApi();
    api.world.model.reply({ text: 'a b c d e f g h i j k l m n o p', chunkSize: 2, eventDelayMs: 20 });
    const client = await api.client();
    const stream = await client.responses.create({ model: 'assistant', input: 'Go.', stream: true });
    let id = '';
    for await (const event of stream) {
      if (event.type === 'response.created') ({ id } = event.response);
      if (event.type === 'response.output_text.delta') break;
    }
    const kept = await waitFor(async () => {
      const now = await client.responses.retrieve(id);
      return now.status === 'completed' ? now : null;
    });
    expect(kept.output_text).toBe('a b c d e f g h i j k l m n o p');
    expect(api.world.model.requests[0]?.clientGone).toBe(false);
  });

  test('that fails says why, streamed or not', async () => {
    await using api = await startApi();
    const broken = { error: { status: 400, message: 'no such model' } };
    api.world.model.reply(broken, broken);
    const client = await api.client();
    const { id } = await client.responses.create({ model: 'assistant', input: 'Hi.', background: true });
    const failed = await waitFor(async () => {
      const now = await client.responses.retrieve(id);
      return now.status === 'failed' ? now : null;
    });
    expect(failed).toMatchObject({ error: { code: 'server_error' }, output: [] });
    const stream = await client.responses.create({ model: 'assistant', input: 'Hi.', stream: true });
    const types: string[] = [];
    for await (const event of stream) types.push(event.type);
    expect(types).toEqual(['response.created', 'response.in_progress', 'response.failed']);
  });

  test('an id that no response has is refused, with a sentence', async () => {
    await using api = await startApi();
    const fetched = await api.ask('/v1/responses/resp_0000000000000000');
    expect([fetched.status, await fetched.json()]).toMatchObject([
      404,
      { error: { message: expect.stringContaining('kept for a day') } },
    ]);
    const created = await api.post('/v1/responses', { model: 'assistant', input: 'x', previous_response_id: 'resp_x' });
    expect([created.status, await created.json()]).toMatchObject([
      400,
      { error: { code: 'previous_response_not_found', param: 'previous_response_id' } },
    ]);
  });
});

describe('GET /v1/models', () => {
  test('lists the assistant, and itself without tools', async () => {
    await using api = await startApi();
    const client = await api.client();
    const ids: string[] = [];
    for await (const model of client.models.list()) ids.push(model.id);
    expect(ids).toEqual(['assistant', 'assistant-light']);
    expect(await client.models.retrieve('assistant')).toMatchObject({ id: 'assistant', object: 'model' });
    await expect(client.models.retrieve('gpt-4o')).rejects.toThrow(/assistant-light/u);
  });
});
