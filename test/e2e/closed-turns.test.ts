import { describe, expect, test } from 'vitest';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type DialectName, type World } from '../support/world.ts';

/** The conversation of the newest request: `role: texts`, tool results and the program's own blocks left out. */
function talk(world: World): readonly string[] {
  const body: unknown = world.model.requests.at(-1)?.body;
  const messages: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, 'messages') : [];
  if (!Array.isArray(messages)) return [];
  return messages.flatMap((message: { readonly role: string; readonly content: unknown }) => {
    const parts: readonly unknown[] = Array.isArray(message.content) ? message.content : [{ text: message.content }];
    const texts = parts.flatMap((part) => {
      const text: unknown = typeof part === 'object' && part !== null ? Reflect.get(part, 'text') : undefined;
      const said = typeof text === 'string' ? text.replace(/^<context>[\s\S]*<\/context>\s*/u, '') : '';
      return said === '' ? [] : [said];
    });
    return message.role === 'user' || message.role === 'assistant' ? [`${message.role}: ${texts.join('|')}`] : [];
  });
}

const ended = async (world: World, outcome: string): Promise<boolean> =>
  (await world.tape(`telegram:${OWNER}`)).some((entry) => entry.kind === 'turn-end' && entry.outcome === outcome);

describe.each(['openai', 'anthropic'] satisfies DialectName[])(
  'a turn without an answer, in the %s dialect',
  (dialect) => {
    test('that was stopped is closed for the model with what the person saw of its answer', async () => {
      await using world = await startWorld({ dialect });
      const sentence = 'A sentence of a very long tale. ';
      world.model.reply({ text: `It begins. ${sentence.repeat(60)}`, chunkSize: 20, eventDelayMs: 60 });
      world.telegram.userSays(OWNER, 'tell me a tale');
      await waitFor(() => chatOf(world).some((text) => text.includes('It begins.')), { what: 'the beginning' });
      world.telegram.userSays(OWNER, '/stop');
      await waitFor(() => ended(world, 'stopped'), { what: 'the end of the turn' });
      world.model.reply('A song it is.');
      world.telegram.userSays(OWNER, 'a song instead');
      await waitFor(() => chatOf(world).includes('A song it is.'));
      const [question, closing, next] = talk(world);
      expect(question).toBe('user: tell me a tale');
      expect(closing).toMatch(/^assistant: It begins\..*\n\n\[stopped by the user\]$/u);
      expect(next).toBe('user: a song instead');
      expect(talk(world)).toHaveLength(3);
    });

    test('that failed is closed with the reason, and the requests after it begin with the same words', async () => {
      await using world = await startWorld({ dialect });
      world.model.reply({ error: { status: 401, message: 'bad key' } });
      world.telegram.userSays(OWNER, 'what is new?');
      await waitFor(() => chatOf(world).length === 1, { what: 'the failure' });
      world.model.reply('Hello.');
      world.telegram.userSays(OWNER, 'hello');
      await waitFor(() => chatOf(world).includes('Hello.'));
      const first = talk(world);
      expect(first).toEqual([
        'user: what is new?',
        expect.stringMatching(/^assistant: \[not answered: \w+ refused the API key\./u),
        'user: hello',
      ]);
      world.model.reply('Good bye.');
      world.telegram.userSays(OWNER, 'bye');
      await waitFor(() => chatOf(world).includes('Good bye.'));
      expect(talk(world).slice(0, 3)).toEqual(first);
    });
  },
);
