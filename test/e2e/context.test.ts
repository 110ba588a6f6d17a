import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { HookSet } from '../../src/app.ts';
import type { ModelRequest } from '../../src/core/providers/provider.ts';
import { recordingLog } from '../support/recording-log.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

const SESSION = `telegram:${OWNER}`;
const DIALECTS = ['openai', 'anthropic'] as const;

async function ask(world: World, text: string): Promise<string> {
  const before = chatOf(world).length;
  world.telegram.userSays(OWNER, text);
  await waitFor(() => chatOf(world).length > before, { what: `an answer to ${text}` });
  return chatOf(world).at(-1) ?? '';
}

const READ = { name: 'read_file', arguments: { path: 'notes.txt' } };

/** Each layer of a request as bytes, cache marks left out. */
function layersOf(body: unknown): readonly string[] {
  const plain = JSON.parse(
    JSON.stringify(body, (key, value: unknown) => (key === 'cache_control' ? undefined : value)),
  ) as { system?: unknown; tools?: unknown; messages: readonly unknown[] };
  return [plain.system ?? null, plain.tools ?? null, ...plain.messages].map((layer) => JSON.stringify(layer));
}

const breaks = (log: ReturnType<typeof recordingLog>): readonly unknown[] =>
  log.lines.filter(({ message }) => message.startsWith('prompt cache: request does not extend the one before'));

describe.each(DIALECTS)('what a model of the %s dialect is sent', (dialect) => {
  test('begins with the whole request before, byte for byte, through ten turns with tools', async () => {
    const log = recordingLog();
    await using world = await startWorld({ dialect, log });
    await writeFile(join(world.workspace, 'notes.txt'), 'a note\n'.repeat(40));
    for (let n = 1; n <= 10; n += 1) {
      world.model.reply(
        {
          text: n % 3 === 0 ? 'Let me look.' : '',
          calls: n % 2 === 0 ? [READ] : [READ, { ...READ, name: 'list_dir', arguments: {} }],
        },
        { calls: [{ name: 'no_such_tool', arguments: {} }] },
        `Answer ${n}.`,
      );
      await ask(world, `question ${n}`);
      // On a busy machine a preview of the first text comes before.
      await expect.poll(() => chatOf(world).at(-1), { timeout: 20_000 }).toBe(`Answer ${n}.`);
    }
    const requests = world.model.requests.map(({ body }) => layersOf(body));
    expect(requests).toHaveLength(30);
    for (const [index, request] of requests.entries()) {
      const before = requests[index - 1] ?? [];
      expect(request.slice(0, before.length)).toEqual(before);
    }
    expect(breaks(log)).toEqual([]);
  });

  test('is shortened in one step when it grows too long, and goes on from there', async () => {
    const log = recordingLog();
    await using world = await startWorld({
      dialect,
      log,
      // So that nothing is archived before it has to be trimmed.
      config: { agent: { contextWindow: 16_000, maxOutputTokens: 1000 }, memory: { consolidateAt: 1 } },
    });
    await writeFile(join(world.workspace, 'notes.txt'), 'some words of a note\n'.repeat(500));
    for (let n = 1; n <= 8; n += 1) {
      world.model.reply({ calls: [READ], usage: null }, { text: `Answer ${n}.`, usage: null });
      await ask(world, `question ${n}`);
      // On a busy machine a preview of the first text comes before.
      await expect.poll(() => chatOf(world).at(-1), { timeout: 20_000 }).toBe(`Answer ${n}.`);
    }
    const trims = (await world.tape(SESSION)).filter(({ kind }) => kind === 'trim');
    expect(trims.length).toBeGreaterThan(0);
    expect(trims.length).toBeLessThan(5);
    const last = JSON.stringify(world.model.requests.at(-1)?.body);
    expect(last).toContain('was left out to save space');
    expect(last).toContain('some words of a note');
    expect(Buffer.byteLength(last) / 3.6).toBeLessThan(16_000);
    expect(breaks(log)).toEqual([]);
  });

  const tooLong = {
    error: {
      status: 400,
      message: 'prompt is too long: 210000 tokens > 200000 maximum',
      code: 'context_length_exceeded',
    },
  };

  test('is trimmed and sent once more when the model finds it too long', async () => {
    await using world = await startWorld({ dialect });
    await writeFile(join(world.workspace, 'notes.txt'), 'some words of a note\n'.repeat(500));
    world.model.reply({ calls: [READ] }, 'Read.', tooLong, 'Shorter is better.');
    await ask(world, 'read my notes');
    expect(await ask(world, 'and now?')).toMatch(
      /^Shorter is better\.\n\nThe rest of this conversation no longer fits/u,
    );
    const [, , refused, again] = world.model.requests.map(({ body }) => JSON.stringify(body).length);
    expect(again).toBeLessThan(refused ?? 0);
    expect((await world.tape(SESSION)).filter(({ kind }) => kind === 'trim')).toHaveLength(1);
  });

  test('ends in a sentence when the model still finds it too long, and the next message works', async () => {
    await using world = await startWorld({ dialect });
    await writeFile(join(world.workspace, 'notes.txt'), 'some words of a note\n'.repeat(500));
    world.model.reply({ calls: [READ] }, 'Read.', tooLong, tooLong, 'Fine.');
    await ask(world, 'read my notes');
    expect(await ask(world, 'and now?')).toMatch(/too long/u);
    expect(await ask(world, 'hello?')).toBe('Fine.');
    expect(world.model.requests).toHaveLength(5);
  });
});

test('a hook that changes what was sent before is told in the log, with layer and byte', async () => {
  const log = recordingLog();
  let calls = 0;
  const stamped = (request: ModelRequest): ModelRequest => {
    calls += 1;
    return { ...request, system: [...request.system, `It is call ${calls}.`] };
  };
  const hooks: readonly HookSet[] = [
    { owner: 'clock', hooks: { beforeModel: (_turn, request) => ({ type: 'replace', value: stamped(request) }) } },
  ];
  await using world = await startWorld({ log, hooks });
  world.model.reply('One.', 'Two.');
  await ask(world, 'first');
  await ask(world, 'second');
  expect(breaks(log)).toMatchObject([{ level: 'warn', fields: { session: SESSION, layer: 'system' } }]);
  const line = log.lines.find(({ fields }) => fields['layer'] === 'system');
  expect(line?.fields['byte']).toBeGreaterThan(100);
});

describe('money', () => {
  const price = { input: 10, output: 20, cacheRead: 1, cacheWrite: 10 };
  const models = { 'openai/scripted-model': { contextWindow: 100_000, price } };
  const usage = { input: 1000, cached: 3000, output: 500 };

  test('each call is counted with its price; the turn and /status say what it cost', async () => {
    await using world = await startWorld({ config: { models } });
    world.model.reply({ calls: [{ name: 'list_dir', arguments: {} }], usage }, { text: 'Done.', usage });
    const result = await world.assistant.run('look around');
    const cost = 2 * (1000 * 10 + 3000 * 1 + 500 * 20) * 1e-6;
    expect(result.costUsd).toBeCloseTo(cost);
    expect(result.usage).toMatchObject({ input: 8000, cached: 6000, output: 1000 });
    world.model.reply({ text: 'Hi.', usage });
    await ask(world, 'hello');
    const status = await ask(world, '/status');
    expect(status).toMatch(/This conversation: [\d,]+ of the 100,000 tokens that the model can read \(\d+%\)/u);
    expect(status).toContain(`Here today: 4,500 tokens, 75% of the input from the cache, $${(cost / 2).toFixed(4)}`);
    expect(status).toContain('Everywhere today: 13,500 tokens, 75% of the input from the cache');
  });

  test('/status says when a price is unknown', async () => {
    await using world = await startWorld();
    world.model.reply('Hi.');
    await ask(world, 'hello');
    expect(await ask(world, '/status')).toContain('price unknown');
  });

  test('a used up budget ends the turn in a sentence, before the model is called, also after a restart', async () => {
    await using world = await startWorld({ config: { models, agent: { budget: { dayUsd: 0.03 } } } });
    world.model.reply({ text: 'Hi.', usage }, { text: 'Hi again.', usage });
    expect(await ask(world, 'hello')).toBe('Hi.');
    await ask(world, 'hello again');
    await waitFor(() => chatOf(world).length === 2);
    await world.restart();
    const sentence = await ask(world, 'and again');
    expect(sentence).toMatch(/today’s budget is used up: \$0\.0460 of \$0\.0300.*agent\.budget\.dayUsd/u);
    expect(world.model.requests).toHaveLength(2);
  });
});

describe('a window that the system prompt and the tools nearly fill', () => {
  const small = { agent: { contextWindow: 3_000, maxOutputTokens: 1_000 } };
  const sentence =
    /^The context window of openai\/scripted-model is 3,000 tokens, .* set agent\.contextWindow to at least /u;

  test('is told of at the start, in /status and in /context, with the settings that help', async () => {
    const log = recordingLog();
    await using world = await startWorld({ log, config: small });
    await waitFor(() => log.lines.some(({ level, message }) => level === 'warn' && sentence.test(message)));
    world.model.reply('ok');
    await ask(world, 'hello');
    expect(await ask(world, '/context')).toContain('set agent.contextWindow to at least');
    expect(await ask(world, '/status')).toContain('set agent.contextWindow to at least');
  });

  test('is not told of where there is room', async () => {
    const log = recordingLog();
    await using world = await startWorld({ log, config: { agent: { contextWindow: 16_000, maxOutputTokens: 1_000 } } });
    world.model.reply('ok');
    await ask(world, 'hello');
    expect(await ask(world, '/context')).toMatch(/Room for the conversation: [\d,]+ tokens/u);
    expect(log.lines.filter(({ message }) => message.startsWith('The context window of'))).toEqual([]);
  });

  test('archives what a trim drops, so that it is found again', async () => {
    await using world = await startWorld({ config: small });
    world.model.setHandler(() => ({ text: 'ok', usage: null }));
    for (let n = 0; n < 20; n += 1) await ask(world, `Turn ${n}. ${'Words of idle talk. '.repeat(20)}`);
    await waitFor(async () => (await world.tape(SESSION)).some(({ kind }) => kind === 'anchor'));
  });
});
