import { expect, test } from 'vitest';
import { startApi } from '../support/api-world.ts';
import { readBody, replyJson, startServer } from '../support/http.ts';

const body = { model: 'any', input: ['one', 'two'] };

test('POST /v1/embeddings passes texts on to the model of memory.embeddings, with the key of its provider', async () => {
  await using stack = new AsyncDisposableStack();
  const asked: { readonly key: string | undefined; readonly body: unknown }[] = [];
  const server = stack.use(
    await startServer(async (request, response) => {
      asked.push({ key: request.headers.authorization, body: JSON.parse(await readBody(request)) });
      const data = [
        { object: 'embedding', index: 1, embedding: [0.5, -2] },
        { object: 'embedding', index: 0, embedding: [0.25, 1] },
      ];
      replyJson(response, 200, {
        object: 'list',
        model: 'vectors',
        data,
        usage: { prompt_tokens: 4, total_tokens: 4 },
      });
    }),
  );
  const api = stack.use(
    await startApi({
      config: {
        providers: { other: { baseUrl: `${server.url}/v1`, apiKey: 'key-of-vectors-0002' } },
        memory: { embeddings: { provider: 'other', model: 'vectors' } },
      },
    }),
  );
  const plain = await api.post('/v1/embeddings', { ...body, dimensions: 2, encoding_format: 'float' });
  expect(await plain.json()).toEqual({
    object: 'list',
    model: 'other/vectors',
    data: [
      { object: 'embedding', index: 0, embedding: [0.25, 1] },
      { object: 'embedding', index: 1, embedding: [0.5, -2] },
    ],
    usage: { prompt_tokens: 4, total_tokens: 4 },
  });
  expect(asked[0]).toEqual({
    key: 'Bearer key-of-vectors-0002',
    body: { model: 'vectors', input: ['one', 'two'], dimensions: 2, encoding_format: 'float' },
  });
  // The official client asks for base64 and decodes it.
  const { data } = await (await api.client()).embeddings.create({ model: 'any', input: ['one', 'two'] });
  expect(data.map(({ embedding }) => embedding)).toEqual([
    [0.25, 1],
    [0.5, -2],
  ]);
});

test('POST /v1/embeddings without memory.embeddings names the setting', async () => {
  await using api = await startApi();
  const response = await api.post('/v1/embeddings', body);
  expect(response.status).toBe(404);
  expect(await response.json()).toMatchObject({
    error: { code: 'embeddings_not_configured', message: expect.stringContaining('memory.embeddings') },
  });
});

test('POST /v1/embeddings says which model did not answer, and why', async () => {
  await using api = await startApi({
    config: {
      providers: { claude: { kind: 'anthropic', apiKey: 'key-of-claude-0003' } },
      memory: { embeddings: { provider: 'claude', model: 'x' } },
    },
  });
  const response = await api.post('/v1/embeddings', body);
  expect([response.status, await response.json()]).toMatchObject([
    502,
    { error: { message: expect.stringMatching(/^claude\/x did not answer: .*does not speak OpenAI's API/u) } },
  ]);
});
