import { describe, expect, test } from 'vitest';
import type { FakeModel } from '../support/fake-model.ts';
import { knownFault } from '../known-faults.ts';
import { GROUP } from '../support/three-people.ts';
import { expectWithin, waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

const replies = (world: World, count: number, chat = OWNER): Promise<unknown> =>
  waitFor(() => chatOf(world, chat).length >= count, { what: `${count} replies` });

/** How many of the texts the newest request to the model holds. */
function holds(model: FakeModel, ...texts: readonly string[]): readonly boolean[] {
  const body = JSON.stringify(model.requests.at(-1)?.body);
  return texts.map((text) => body.includes(text));
}

const accepted = (world: World): Promise<unknown> =>
  waitFor(() => world.telegram.unconfirmed.length === 0, { what: 'everything is accepted' });

describe('a burst', () => {
  test('a paste that the app cut at the limit is one turn', async () => {
    await using world = await startWorld();
    world.model.reply('Read it all.');
    world.telegram.userSays(OWNER, `${'x'.repeat(4_090)} first`);
    world.telegram.userSays(OWNER, 'and the second half');
    await replies(world, 1);
    expect(world.model.requests).toHaveLength(1);
    expect(holds(world.model, 'first', 'second half')).toEqual([true, true]);
    expect(chatOf(world)).toEqual(['Read it all.']);
  });

  test('forwards and what is said about them are one turn, kept in order across a restart in the middle', async () => {
    await using world = await startWorld();
    const forwarded = { forward_date: 1, forward_origin: { type: 'hidden_user', sender_user_name: 'Eve', date: 1 } };
    world.telegram.userSays(OWNER, 'her words', forwarded);
    await accepted(world);
    world.model.reply('I see.');
    const restarted = world.restart();
    world.telegram.userSays(OWNER, 'what do you think?');
    await restarted;
    await replies(world, 1);
    expect(world.model.requests).toHaveLength(1);
    expect(JSON.stringify(world.model.requests[0]?.body)).toMatch(/her words.*what do you think/u);
  });

  test('the parts of an album are one turn, however late they come, and across a restart in the middle', async () => {
    await using world = await startWorld();
    world.model.reply('Three pictures.');
    const part = (n: number): Readonly<Record<string, unknown>> => ({
      media_group_id: 'g1',
      text: undefined,
      document: { file_id: `absent${n}`, file_name: `part${n}.txt` },
    });
    world.telegram.userSays(OWNER, '', part(1));
    await accepted(world);
    await new Promise((resolve) => setTimeout(resolve, 900));
    world.telegram.userSays(OWNER, '', part(2));
    await accepted(world);
    await world.restart();
    await new Promise((resolve) => setTimeout(resolve, 900));
    world.telegram.userSays(OWNER, '', part(3));
    await replies(world, 1);
    expect(world.model.requests).toHaveLength(1);
    expect(holds(world.model, 'part1.txt', 'part2.txt', 'part3.txt')).toEqual([true, true, true]);
  });

  test('/new in the middle of one drops it and says so at once', async () => {
    await using world = await startWorld({ config: { agent: { debounceMs: 60_000 } } });
    const began = performance.now();
    world.telegram.userSays(OWNER, 'about the rain');
    world.telegram.userSays(OWNER, '/new');
    await replies(world, 1);
    expectWithin(performance.now() - began, 2_500, 'the answer');
    expect(chatOf(world)).toEqual(['I started a new conversation (1 waiting message dropped). What shall we do?']);
    expect(world.model.requests).toHaveLength(0);
  });

  test('/stop in the middle of one drops it', async () => {
    await using world = await startWorld({ config: { agent: { debounceMs: 60_000 } } });
    world.telegram.userSays(OWNER, 'about the rain');
    world.telegram.userSays(OWNER, '/stop');
    await replies(world, 1);
    expect(chatOf(world)).toEqual(['Nothing was running; dropped 1 waiting message.']);
    world.model.reply('Here.');
    world.telegram.userSays(OWNER, 'hello?');
    await replies(world, 2);
    expect(holds(world.model, 'the rain', 'hello?')).toEqual([false, true]);
  });
});

knownFault('A12 a restart between the parts of an album in a group', async () => {
  const groups = { debounceMs: 0, followUpSeconds: 0 };
  await using world = await startWorld({ config: { channels: { telegram: { groups } } } });
  world.model.reply('Two files.');
  const part = (n: number): Readonly<Record<string, unknown>> => ({
    media_group_id: 'g1',
    text: undefined,
    document: { file_id: `absent${n}`, file_name: `part${n}.txt` },
  });
  world.telegram.userSays(GROUP, '', { ...part(1), from: { id: OWNER } });
  await accepted(world);
  await world.restart();
  const caption_entities = [{ type: 'mention', offset: 0, length: 9 }];
  world.telegram.userSays(GROUP, '', { ...part(2), caption: '@test_bot look', caption_entities, from: { id: OWNER } });
  await replies(world, 1, GROUP);
  expect(holds(world.model, 'part1.txt', 'part2.txt')).toEqual([true, true]);
});
