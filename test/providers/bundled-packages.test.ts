import * as whole from '@pydantic/genai-prices';
import type * as sdk from 'openai';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'rolldown';
import { describe, expect, test } from 'vitest';
import { REPLACED } from '../../packages.config.ts';
import { PROGRAM } from '../support/extensions.ts';
import { tempFolder } from '../support/temp.ts';

/** What a package exports as the program has it. */
async function bundled<T>(name: string, outdir: string): Promise<T> {
  await build({
    input: fileURLToPath(import.meta.resolve(name)),
    platform: 'node',
    plugins: [...REPLACED],
    logLevel: 'silent',
    output: { dir: outdir, entryFileNames: 'package.mjs' },
  });
  return (await import(pathToFileURL(join(outdir, 'package.mjs')).href)) as T;
}

describe('what the bundle has of a package does what the whole package does', () => {
  test('every model that a preset may name has the price and the context window of the whole list', async () => {
    await using folder = await tempFolder();
    const ours = await bundled<typeof whole>('@pydantic/genai-prices', folder.path);
    const usage = { input_tokens: 1_000, cache_read_tokens: 100, cache_write_tokens: 10, output_tokens: 50 };
    const names = [
      'gpt-5',
      'gpt-4o-mini',
      'claude-sonnet-4-5',
      'gemini-2.5-pro',
      'grok-4',
      'mistral-large-latest',
      'glm-4.6',
    ];
    const models = [...names, 'deepseek-chat', 'llama-3.3-70b-versatile', 'openai/gpt-5', 'no-such-model'];
    const ids = [
      undefined,
      ...PROGRAM.presets.keys(),
      'google',
      'moonshotai',
      'x-ai',
      'zhipuai',
      'azure',
      'openrouter',
    ];
    let found = 0;
    for (const providerId of ids)
      for (const model of models) {
        const where = providerId === undefined ? {} : { providerId };
        const expected = attempt(() => whole.calcPrice(usage, model, where));
        expect(
          attempt(() => ours.calcPrice(usage, model, where)),
          `${providerId} ${model}`,
        ).toEqual(expected);
        if (typeof expected === 'object' && expected !== null) found += 1;
      }
    expect(found).toBeGreaterThan(20);
  });

  test('of OpenAI what is posted, heard and embedded reaches the same addresses', async () => {
    await using folder = await tempFolder();
    const { OpenAI } = await bundled<typeof sdk>('openai', folder.path);
    const called: string[] = [];
    const client = new OpenAI({
      apiKey: 'test-key',
      baseURL: 'http://127.0.0.1:9/v1',
      fetch: async (input, init) => {
        const url = input instanceof Request ? input.url : input.toString();
        // The SDK tries out how a form is read.
        if (url.startsWith('data:')) return new Response();
        called.push(`${init?.method} ${url} ${init?.body instanceof FormData ? 'form' : 'json'}`);
        return Response.json({ text: 'heard', data: [{ index: 0, embedding: [1, 2] }], choices: [] });
      },
    });
    const file = new File(['sound'], 'voice.ogg', { type: 'audio/ogg' });
    const heard = await client.audio.transcriptions.create({ file, model: 'whisper-1' });
    const embedded = await client.embeddings.create({ model: 'small', input: ['a'], encoding_format: 'float' });
    const posted = await client.post<{ choices: unknown[] }>('/chat/completions', { body: { messages: [] } });
    expect(heard.text).toBe('heard');
    expect(embedded.data[0]?.embedding).toEqual([1, 2]);
    expect(posted.choices).toEqual([]);
    expect(called).toEqual([
      'POST http://127.0.0.1:9/v1/audio/transcriptions form',
      'POST http://127.0.0.1:9/v1/embeddings json',
      'POST http://127.0.0.1:9/v1/chat/completions json',
    ]);
  });
});

/** What is read of a price; null where there is none or the list refuses. */
function attempt(price: () => ReturnType<typeof whole.calcPrice>): unknown {
  try {
    const { total_price: total, model } = price() ?? {};
    return total === undefined ? null : { total, id: model?.id, window: model?.context_window };
  } catch {
    return 'refused';
  }
}
