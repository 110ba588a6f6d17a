import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI from 'openai';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startFakeOpenAi } from './fake-openai.ts';
import { checkRecording } from './schema-check.ts';

let folder = '';

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'schema-check-'));
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: { user: { type: 'string', maxLength: 3 }, model: { type: 'string', format: 'uri' } },
  };
  await writeFile(join(folder, 'openai-chat-completions.request.json'), JSON.stringify(schema));
  await writeFile(join(folder, 'openai-responses.request.json'), JSON.stringify(schema));
  await writeFile(join(folder, 'anthropic-messages.request.json'), JSON.stringify(schema));
});

afterEach(() => rm(folder, { recursive: true }));

test('a recorded run is counted, and what only the schema refuses is a difference', async () => {
  const record = join(folder, 'run.jsonl');
  await using server = await startFakeOpenAi({ record, handler: () => 'ok', expectViolations: true });
  const client = new OpenAI({ apiKey: 'key', baseURL: server.url, maxRetries: 0 });
  const ask = (user: string, content: string) =>
    client.chat.completions.create({ model: 'urn:m', user, messages: [{ role: 'user', content }] });
  await ask('me', 'hi');
  await ask('someone', 'hi');
  await ask('someone', '').catch(() => {});
  expect(await checkRecording(folder, record)).toEqual({
    counts: {
      openai: { requests: 3, illegal: 1 },
      'openai-responses': { requests: 0, illegal: 0 },
      anthropic: { requests: 0, illegal: 0 },
    },
    differences: ['line 2 (openai): /user must NOT have more than 3 characters'],
  });
});

test('a line that is no record is named', async () => {
  const record = join(folder, 'run.jsonl');
  await writeFile(record, '\n{"api":"other"}\n');
  await expect(checkRecording(folder, record)).rejects.toThrow('line 2');
});
