import { describe, expect, test } from 'vitest';
import { tokensOfFrame } from '../../src/core/agent/context/token-estimate.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

async function withWindow(contextWindow: number): Promise<World> {
  return await startWorld({ dialect: 'ollama', config: { agent: { contextWindow } } });
}

async function says(world: World, text: string): Promise<string> {
  const before = chatOf(world).length;
  world.telegram.userSays(OWNER, text);
  await waitFor(() => chatOf(world).length > before, { what: `an answer to ${text}` });
  return chatOf(world).slice(before).join('\n');
}

const SENTENCE =
  /The context window of ollama\/scripted-model is 8,192 tokens, so it is offered only \d+ of \d+ tools\. To offer all of them, set models\."ollama\/scripted-model"\.contextWindow to at least 16,384/u;

describe('a model with a small window', () => {
  test('is offered few tools, so that half of the window is left, and /status and /context say so', async () => {
    await using world = await withWindow(8_192);
    world.model.setHandler(() => 'Hello.');
    expect(await says(world, 'hi')).toBe('Hello.');
    const { view, body } = world.model.requests[0] ?? {};
    expect(view?.tools).toEqual(expect.arrayContaining(['read_file', 'write_file', 'exec', 'web_fetch', 'cron']));
    expect(view?.tools).not.toContain('spawn');
    const frame = tokensOfFrame([view?.system ?? '', JSON.stringify(body?.['tools'])], []);
    expect(frame).toBeLessThan(8_192 / 2);
    expect(await says(world, '/status')).toMatch(SENTENCE);
    expect(await says(world, '/context')).toMatch(SENTENCE);
  });

  test('calls its tools and keeps its system prompt through a long conversation, whose requests fit', async () => {
    await using world = await withWindow(8_192);
    const words = 'We spoke of the garden, the long winter and what there was for dinner. '.repeat(12);
    for (let n = 1; n <= 14; n += 1) {
      world.model.reply(
        { calls: [{ name: 'write_file', arguments: { path: `n${n}.txt`, content: `note ${n}` } }] },
        `Answer ${n}.`,
      );
      expect(await says(world, `question ${n}: ${words}`)).toBe(`Answer ${n}.`);
    }
    const systems = world.model.requests.map(({ view }) => view.system);
    expect(systems.every((system) => system.length > 1_000)).toBe(true);
    const sizes = world.model.requests.map(({ body }) => body['options']);
    expect(sizes.every((options) => JSON.stringify(options).includes('"num_ctx":8192'))).toBe(true);
  });
});

test('a model with a window of 16,384 tokens is offered all tools', async () => {
  await using world = await withWindow(16_384);
  world.model.setHandler(() => 'Hello.');
  await says(world, 'hi');
  expect(world.model.requests[0]?.view.tools).toContain('spawn');
  expect(await says(world, '/context')).not.toContain('it is offered only');
});
