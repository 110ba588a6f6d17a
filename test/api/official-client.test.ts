import { APIError, type OpenAI } from 'openai';
import { zodResponseFormat, zodTextFormat } from 'openai/helpers/zod';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { startApi } from '../support/api-world.ts';
import { waitFor } from '../support/wait.ts';

const City = z.object({ city: z.string(), people: z.number() });
const ROME = '{"city":"Rome","people":2800000}';
const tick = '```';

describe('the official client', () => {
  test('throws for a response whose turn failed, as for any failure of a server', async () => {
    await using api = await startApi();
    api.world.model.reply({ error: { status: 400, message: 'no such model' } });
    const client = await api.client();
    const failed = await client.responses.create({ model: 'assistant', input: 'Hi.' }).catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(APIError);
    expect(failed).toMatchObject({
      status: 502,
      code: 'turn_failed',
      message: expect.stringContaining('no such model'),
    });
  });

  test.each([false, true])('cancels a response that is being worked on; in the background: %s', async (background) => {
    await using api = await startApi();
    api.world.model.reply({ text: 'a b c d e f g h i j k l m n o p', chunkSize: 2, eventDelayMs: 200 });
    const client = await api.client();
    let id = '';
    if (background) ({ id } = await client.responses.create({ model: 'assistant', input: 'Go.', background }));
    else {
      const stream = await client.responses.create({ model: 'assistant', input: 'Go.', stream: true });
      for await (const event of stream) {
        if (event.type === 'response.created') ({ id } = event.response);
        if (event.type === 'response.output_text.delta') break;
      }
    }
    expect(await client.responses.cancel(id)).toMatchObject({ id, status: 'cancelled' });
    expect(await client.responses.retrieve(id)).toMatchObject({ id, status: 'cancelled' });
    expect(await client.responses.cancel(id)).toMatchObject({ id, status: 'cancelled' });
  });

  test('cancels just the response that it names, whether that one waits or runs', async () => {
    await using api = await startApi();
    const slow = { text: 'a b c d e f g h', chunkSize: 2, eventDelayMs: 100 };
    api.world.model.reply(slow, slow, 'fourth');
    const client = await api.client();
    const ids: string[] = [];
    for (const input of ['One.', 'Two.', 'Three.', 'Four.']) {
      const body = { model: 'assistant', input, background: true };
      ids.push((await client.responses.create(body, { headers: { 'X-Assistant-Session': 'desk' } })).id);
    }
    const [one = '', two = '', three = '', four = ''] = ids;
    const statusOf = async (id: string): Promise<string | undefined> => (await client.responses.retrieve(id)).status;
    await waitFor(() => api.world.model.requests.length === 1, { what: 'the first turn' });
    expect(await client.responses.cancel(two)).toMatchObject({ id: two, status: 'cancelled' });
    await waitFor(async () => (await statusOf(one)) === 'completed', { what: 'the first answer' });
    await waitFor(() => api.world.model.requests.length === 2, { what: 'the third turn' });
    expect(await client.responses.cancel(three)).toMatchObject({ id: three, status: 'cancelled' });
    await waitFor(async () => (await statusOf(four)) === 'completed', { what: 'the fourth answer' });
    expect(await Promise.all(ids.map(statusOf))).toEqual(['completed', 'cancelled', 'cancelled', 'completed']);
    expect(api.world.model.requests.at(-1)?.text).not.toContain('Two.');
  });

  test('gets a completed response back from cancel unchanged, and 404 for one that nobody made', async () => {
    await using api = await startApi();
    api.world.model.reply('Done.');
    const client = await api.client();
    const { id } = await client.responses.create({ model: 'assistant', input: 'Hi.' });
    expect(await client.responses.cancel(id)).toMatchObject({ id, status: 'completed' });
    await expect(client.responses.cancel('resp_0000000000000000')).rejects.toMatchObject({ status: 404 });
  });

  test('may send a conversation that ends with the results of its own tools', async () => {
    await using api = await startApi();
    api.world.model.reply('It rains.', 'It rains there too.', 'And here.');
    const client = await api.client();
    const call = (id: string): OpenAI.ChatCompletionMessageToolCall => ({
      id,
      type: 'function',
      function: { name: 'weather', arguments: '{}' },
    });
    const messages: OpenAI.ChatCompletionMessageParam[] = [
      { role: 'user', content: 'How is the weather?' },
      { role: 'assistant', content: '', tool_calls: [call('1'), call('2')] },
      { role: 'tool', tool_call_id: '1', content: 'rain in Rome' },
      { role: 'tool', tool_call_id: '2', content: 'rain in Bonn' },
    ];
    const answer = await client.chat.completions.create({ model: 'assistant', messages });
    expect(answer.choices[0]?.message.content).toBe('It rains.');
    const [request] = api.world.model.requests;
    for (const part of ['How is the weather?', 'rain in Rome', 'rain in Bonn']) expect(request?.text).toContain(part);
    const named = await client.chat.completions.create(
      { model: 'assistant', messages },
      { headers: { 'X-Assistant-Session': 'desk' } },
    );
    expect(named.choices[0]?.message.content).toBe('It rains there too.');
    expect(api.world.model.requests[1]?.text).toContain('rain in Bonn');
    const response = await client.responses.create({
      model: 'assistant',
      input: [
        { role: 'user', content: 'How is the weather?' },
        { type: 'function_call', call_id: '1', name: 'weather', arguments: '{}' },
        { type: 'function_call_output', call_id: '1', output: 'rain in Rome' },
      ],
    });
    expect(response.output_text).toBe('And here.');
  });

  test.each([
    `${tick}json\n${ROME}\n${tick}`,
    `${tick}\n${ROME}\n${tick}\n`,
    `~~~json\n${ROME}\n~~~`,
    `Here it is:\n\n${tick}JSON\n${ROME}\n${tick}\n\nAnything else?`,
    `Here it is: ${ROME}`,
    ROME,
  ])('parses an answer that was asked for as JSON: %j', async (said) => {
    await using api = await startApi();
    api.world.model.setHandler(() => said);
    const client = await api.client();
    const messages = [{ role: 'user' as const, content: 'Where?' }];
    const parsed = await client.chat.completions.parse({
      model: 'assistant',
      messages,
      response_format: zodResponseFormat(City, 'city'),
    });
    expect(parsed.choices[0]?.message).toMatchObject({ content: ROME, parsed: JSON.parse(ROME) });
    const response = await client.responses.parse({
      model: 'assistant',
      input: 'Where?',
      text: { format: zodTextFormat(City, 'city') },
    });
    expect(response.output_parsed).toEqual(JSON.parse(ROME));
    expect(await client.responses.retrieve(response.id)).toMatchObject({ output_text: ROME });
    const stream = client.chat.completions.stream({
      model: 'assistant',
      messages,
      response_format: zodResponseFormat(City, 'city'),
    });
    expect((await stream.finalChatCompletion()).choices[0]?.message.parsed).toEqual(JSON.parse(ROME));
  });
});
