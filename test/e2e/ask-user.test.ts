import { describe, expect, test } from 'vitest';
import { GROUP } from '../support/three-people.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

const ask = (question: string, choices?: readonly string[]): object => ({
  calls: [{ name: 'ask_user', arguments: choices === undefined ? { question } : { question, choices } }],
});
const said = (world: World, part: string, chat = OWNER): Promise<unknown> =>
  waitFor(() => chatOf(world, chat).some((text) => text.includes(part)), { what: `${part} in ${chat}` });
const lastResult = (world: World): string => world.model.requests.at(-1)?.view.toolResults.at(-1)?.text ?? '';
const buttons = (world: World): unknown =>
  world.telegram.calls.findLast(({ payload }) => payload['reply_markup'] !== undefined)?.payload['reply_markup'];

describe('ask_user', () => {
  test('waits for the next words of the person, which get no turn of their own', async () => {
    await using world = await startWorld();
    world.model.reply(ask('Which city?'), 'Rome it is.');
    world.telegram.userSays(OWNER, 'book a flight');
    await said(world, 'Which city?');
    expect(chatOf(world)).toEqual(['Which city?']);
    world.telegram.userSays(OWNER, 'Rome');
    await said(world, 'Rome it is.');
    expect(lastResult(world)).toMatch(/\nRome$/u);
    expect(world.model.requests).toHaveLength(2);
  });

  test.each([
    ['the press of a button', (world: World, id: string) => world.telegram.userPresses(OWNER, 1, id)],
    ['its number', (world: World) => world.telegram.userSays(OWNER, '2')],
  ])('takes a choice by %s', async (_, answer) => {
    await using world = await startWorld();
    world.model.reply(ask('Window or aisle?', ['window', 'aisle']), 'Good.');
    world.telegram.userSays(OWNER, 'book a seat');
    await said(world, '2. aisle');
    const id = /"callback_data":"(ask:[0-9a-z]{8}:1)"/u.exec(JSON.stringify(buttons(world)))?.[1] ?? '';
    answer(world, id);
    await said(world, 'Good.');
    expect(lastResult(world)).toMatch(/\naisle$/u);
  });

  test('is asked once: after a restart the answer counts, also one that came meanwhile', async () => {
    await using world = await startWorld();
    world.model.reply(ask('Which city?'), 'Rome it is.');
    world.telegram.userSays(OWNER, 'book a flight');
    await said(world, 'Which city?');
    await world.restart();
    world.telegram.userSays(OWNER, 'Rome');
    await said(world, 'Rome it is.');
    expect(chatOf(world).filter((text) => text.includes('Which city?'))).toHaveLength(1);
  });

  test('holds no place that others need', async () => {
    await using world = await startWorld({
      config: {
        agent: { maxConcurrentTurns: 1 },
        channels: { telegram: { allowFrom: ['42', '43'], owners: ['42'] } },
      },
    });
    world.model.reply(ask('Which city?'), 'Hello.', 'Rome it is.');
    world.telegram.userSays(OWNER, 'book a flight');
    await said(world, 'Which city?');
    world.telegram.userSays(43, 'hi');
    await said(world, 'Hello.', 43);
    world.telegram.userSays(OWNER, 'Rome');
    await said(world, 'Rome it is.');
  });

  test('ends with /stop, and what is said after it is a message like any other', async () => {
    await using world = await startWorld();
    world.model.reply(ask('Which city?'), 'Hello again.');
    world.telegram.userSays(OWNER, 'book a flight');
    await said(world, 'Which city?');
    world.telegram.userSays(OWNER, '/stop');
    await said(world, 'Stopped');
    world.telegram.userSays(OWNER, 'hi');
    await said(world, 'Hello again.');
  });

  test('in a group is answered by the one who was asked, not by others', async () => {
    await using world = await startWorld({
      config: {
        channels: {
          telegram: { allowFrom: ['42', '43'], owners: ['42'], groups: { policy: 'open', debounceMs: 0 } },
        },
      },
    });
    const from = (id: number): Record<string, unknown> => ({
      from: { id },
      entities: [{ type: 'mention', offset: 0, length: 9 }],
    });
    world.model.reply(ask('Which city?'), 'Rome it is.', 'Hello, other.');
    world.telegram.userSays(GROUP, '@test_bot book', from(OWNER));
    await said(world, 'Which city?', GROUP);
    world.telegram.userSays(GROUP, '@test_bot Paris', from(43));
    world.telegram.userSays(GROUP, '@test_bot Rome', from(OWNER));
    await said(world, 'Rome it is.', GROUP);
    await said(world, 'Hello, other.', GROUP);
    const answers = world.model.requests.flatMap(({ view }) => view.toolResults.map(({ text }) => text));
    expect(answers.join('\n')).toContain('Rome');
    expect(answers.join('\n')).not.toContain('Paris');
  });

  test('says so where no one can be asked', async () => {
    await using world = await startWorld();
    world.model.reply(ask('Which city?'), 'Then not.');
    const { text } = await world.assistant.run('book a flight');
    expect(text).toBe('Then not.');
    expect(lastResult(world)).toContain('no one can be asked here');
  });
});
