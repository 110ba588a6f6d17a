import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

async function replies(world: World, count: number): Promise<readonly string[]> {
  await waitFor(() => chatOf(world).length >= count, { what: `${count} replies` });
  return chatOf(world);
}

describe.each(['openai', 'anthropic'] as const)(
  'a message on Telegram, answered by a model that speaks %s',
  (dialect) => {
    test('runs two tool calls, comes back as one reply, and the tape holds every step', async () => {
      await using world = await startWorld({ dialect });
      await writeFile(join(world.workspace, 'NOTES.md'), 'buy milk\n');
      world.model.reply(
        { calls: [{ name: 'read_file', arguments: { path: 'NOTES.md' } }] },
        { calls: [{ name: 'write_file', arguments: { path: 'done.md', content: 'milk bought\n' } }] },
        'All **done**.',
      );
      world.telegram.userSays(OWNER, 'please do what the notes say');
      expect(await replies(world, 1)).toEqual(['All done.']);
      expect(await readFile(join(world.workspace, 'done.md'), 'utf8')).toBe('milk bought\n');
      const tape = await world.tape(`telegram:${OWNER}`);
      expect(tape.map((entry) => (entry.kind === 'message' ? entry.role : entry.kind))).toEqual([
        'session',
        'turn-start',
        'user',
        'note',
        'assistant',
        'tool',
        'note',
        'assistant',
        'tool',
        'note',
        'assistant',
        'turn-end',
      ]);
      expect(world.model.requests[1]?.view.toolResults[0]?.text).toContain('buy milk');
    });

    test('continues the conversation with the next message, and after a restart', async () => {
      await using world = await startWorld({ dialect });
      world.model.reply('One.', 'Two.', 'Three.');
      world.telegram.userSays(OWNER, 'first');
      await replies(world, 1);
      world.telegram.userSays(OWNER, 'second');
      await replies(world, 2);
      await world.restart();
      world.telegram.userSays(OWNER, 'third');
      expect(await replies(world, 3)).toEqual(['One.', 'Two.', 'Three.']);
      const last = JSON.stringify(world.model.requests.at(-1)?.body);
      for (const said of ['first', 'One.', 'second', 'Two.', 'third']) expect(last).toContain(said);
    });

    test('sends a prefix that does not change from one turn to the next', async () => {
      await using world = await startWorld({ dialect });
      world.model.reply({ calls: [{ name: 'list_dir', arguments: {} }] }, 'One.', 'Two.');
      world.telegram.userSays(OWNER, 'first');
      await replies(world, 1);
      world.telegram.userSays(OWNER, 'second');
      await replies(world, 2);
      const [first, second, third] = world.model.requests.map(({ body }) => withoutCacheMarks(body));
      for (const [before, after] of [
        [first, second],
        [second, third],
      ] as const) {
        const messages = before?.messages ?? [];
        expect(after?.messages.slice(0, messages.length)).toEqual(messages);
        expect([after?.system, after?.tools]).toEqual([before?.system, before?.tools]);
      }
    });

    test('that fails is told in one sentence, and the next request says that it was not answered', async () => {
      await using world = await startWorld({ dialect });
      world.model.reply({ error: { status: 401, message: 'bad key' } }, 'Fine.');
      world.telegram.userSays(OWNER, 'hello');
      const [sentence] = await replies(world, 1);
      expect(sentence).toMatch(/refused the API key/u);
      world.telegram.userSays(OWNER, 'again');
      expect(await replies(world, 2)).toEqual([sentence, 'Fine.']);
      expect(JSON.stringify(world.model.requests.at(-1)?.body)).toContain('[not answered: ');
    });
  },
);

interface Prefix {
  readonly messages: readonly unknown[];
  readonly system: unknown;
  readonly tools: unknown;
}

function withoutCacheMarks(body: unknown): Prefix {
  return JSON.parse(
    JSON.stringify(body, (key, value: unknown) => (key === 'cache_control' ? undefined : value)),
  ) as Prefix;
}
