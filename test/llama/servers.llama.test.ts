import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { NO_LLAMA, startLlama } from '../support/llama-server.ts';
import { startLlamaWorld } from '../support/llama-world.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER } from '../support/world.ts';

describe.skipIf(NO_LLAMA !== undefined)('llama.cpp', () => {
  test('that loads its model for 90 s is waited for, and the person is told', async () => {
    await using it = await startLlamaWorld();
    it.llama.proxy.refusal = { error: { message: 'Loading model', type: 'unavailable_error', code: 503 } };
    it.world.telegram.userSays(OWNER, 'hi');
    await delay(90_000);
    expect(chatOf(it.world)).toEqual([expect.stringMatching(/^⋯ llamacpp is still loading its model/u)]);
    it.llama.proxy.refusal = undefined;
    await waitFor(() => it.llama.proxy.passed.some(({ status }) => status === 200), { what: 'the answer' });
    await it.settled();
    // The answer stands where the person read of the loading.
    expect(chatOf(it.world)).toEqual([expect.not.stringMatching(/loading|overloaded|\/retry/u)]);
    console.log('loading:', chatOf(it.world));
  });

  test('that is killed in the middle of its answer is asked again when it is back', async () => {
    await using it = await startLlamaWorld(
      { flags: ['--ignore-eos'] },
      { config: { agent: { maxOutputTokens: 8_192 } } },
    );
    it.world.telegram.userSays(OWNER, 'hi');
    await waitFor(() => it.llama.proxy.open > 0, { what: 'the request' });
    await delay(1_500);
    await it.llama.kill();
    await it.llama.start();
    await waitFor(() => it.llama.proxy.open > 0, { what: 'the request that comes again' });
    await it.says('/stop');
    expect(chatOf(it.world).join('\n')).not.toMatch(/overloaded|broke off/u);
  });

  test('with one slot answers four chats that talk at once', async () => {
    const people = [OWNER, 43, 44, 45];
    await using it = await startLlamaWorld(
      {},
      { config: { channels: { telegram: { allowFrom: people.map(String), owners: [String(OWNER)] } } } },
    );
    for (let round = 1; round <= 3; round += 1) {
      for (const person of people) it.world.telegram.userSays(person, `round ${round} of ${person}`, from(person));
      await waitFor(() => people.every((person) => chatOf(it.world, person).length >= round), {
        what: 'four answers',
        timeoutMs: 180_000,
      });
    }
    expect(it.llama.proxy.passed.every(({ status }) => status === 200)).toBe(true);
  });

  test('that embeds gets vectors for eight texts, also where one is longer than its batch', async () => {
    await using embedding = await startLlama({ isEmbedding: true, flags: ['-ub', '512', '-b', '512'] });
    const memory = { embeddings: { baseUrl: `${embedding.proxy.url}/v1`, model: 'babble' } };
    await using it = await startLlamaWorld({}, { config: { memory } });
    // A token for each digit: far more than 512 in the 2,000 characters that are sent of a text.
    await it.says(`remember this number: ${'3141592653'.repeat(190)}`);
    for (let n = 1; n <= 7; n += 1) await it.says(`note ${n}: the plum tree blossoms`);
    const status = async (): Promise<string> => (await it.says('/status')).join('\n');
    await waitFor(async () => /(\d+) of \1 texts/u.test(await status()), { what: 'all vectors', timeoutMs: 120_000 });
    const calls = embedding.proxy.passed.map(({ status: code }) => code);
    console.log(
      'embeddings:',
      calls.join(' '),
      (await status()).split('\n').filter((line) => /text|vector|meaning/u.test(line)),
    );
    expect(calls).toEqual(expect.arrayContaining([200, 500]));
    expect(embedding.proxy.passed.find(({ status: code }) => code === 500)?.text).toContain('physical batch size');
  });
});

function from(id: number): Readonly<Record<string, unknown>> {
  return { from: { id, is_bot: false, first_name: `P${id}` }, chat: { id, type: 'private', first_name: `P${id}` } };
}
