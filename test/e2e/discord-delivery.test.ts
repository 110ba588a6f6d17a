import { describe, expect, test } from 'vitest';
import { postsIn, reads, startDiscordWorld, textsIn, type DiscordWorld } from '../support/discord-world.ts';
import type { DiscordFault } from '../support/fake-discord.ts';
import { unreadableMarkdown } from '../support/unreadable-markdown.ts';
import { waitFor } from '../support/wait.ts';

/** All of them run at once, on a machine that may be busy. */
const slow = { timeoutMs: 50_000 };
const SEND = /^POST \/channels\/\d+\/messages$/u;
const EDIT = /^PATCH \/channels\/\d+\/messages\/\d+$/u;
const FILL = /^PATCH \/webhooks\//u;
const ANSWER = `It begins. ${'A sentence of the answer. '.repeat(12)}It ends.`.trim();
const SLOW = { text: ANSWER, chunkSize: 20, eventDelayMs: 120 };

const emptied = (world: DiscordWorld): Promise<unknown> =>
  waitFor(async () => (await world.assistant.call('outboxList', {})).length === 0, {
    ...slow,
    what: 'an empty outbox',
  });

describe.concurrent('an answer on Discord', { timeout: 180_000 }, () => {
  test.each<[string, DiscordFault]>([
    ['the connection breaks before it was taken', 'reset-before'],
    ['the connection breaks after it was taken', 'reset-after'],
    ['Discord fails after it was taken', { status: 500, taken: true }],
    ['a proxy fails before it was taken', { status: 502, body: 'html' }],
  ])('arrives once and unmarked when %s, twice in a row', async (_, fault) => {
    await using world = await startDiscordWorld();
    world.model.reply('Hello.');
    world.discord.faultNext(SEND, fault, 2);
    world.discord.sends(world.direct, world.owner, 'hi');
    await emptied(world);
    await reads(world, world.direct, 'Hello.');
    await emptied(world);
    expect(textsIn(world, world.direct)).toEqual(['Hello.']);
  });

  test('that was being shown when the connection broke becomes the whole answer in its place', async () => {
    await using world = await startDiscordWorld();
    world.model.reply(SLOW);
    world.discord.faultNext(SEND, 'reset-after');
    world.discord.sends(world.direct, world.owner, 'tell me');
    await reads(world, world.direct, ANSWER);
    await emptied(world);
    expect(textsIn(world, world.direct)).toEqual([ANSWER]);
  });

  test('is exact in the end, though its edits failed', async () => {
    await using world = await startDiscordWorld();
    world.model.reply(SLOW);
    world.discord.faultNext(EDIT, { status: 503 }, 2);
    world.discord.sends(world.direct, world.owner, 'tell me');
    await reads(world, world.direct, ANSWER);
    expect(textsIn(world, world.direct)).toEqual([ANSWER]);
  });

  test('takes the place of what showed it although its parts were rendered after its turn was closed', async () => {
    const text = `${ANSWER} unreadable`;
    // Nothing else that is said meanwhile is touched.
    using _ = unreadableMarkdown('unreadable');
    await using world = await startDiscordWorld();
    world.model.reply({ ...SLOW, text });
    world.discord.sends(world.direct, world.owner, 'tell me');
    await waitFor(() => textsIn(world, world.direct).some((shown) => shown.startsWith('It begins.')), {
      ...slow,
      what: 'a preview',
    });
    await reads(world, world.direct, text, { timeoutMs: 60_000 });
    await emptied(world);
    expect(textsIn(world, world.direct)).toEqual([text]);
  });

  test('whose message was deleted meanwhile is sent anew', async () => {
    await using world = await startDiscordWorld();
    world.model.reply(SLOW);
    world.discord.sends(world.direct, world.owner, 'tell me');
    const shown = await waitFor(() => postsIn(world, world.direct)[0], { ...slow, what: 'a preview' });
    world.discord.deletes(world.direct, shown.id);
    await reads(world, world.direct, ANSWER);
  });

  test('to a command from the menu is shown in its place while it is written, and once when that fails', async () => {
    await using world = await startDiscordWorld();
    world.discord.faultNext(FILL, 'reset-after');
    const open = world.discord.commandsOf(world.direct, world.owner, 'status');
    await waitFor(() => open.post, { ...slow, what: 'an answer' });
    await emptied(world);
    expect(textsIn(world, world.direct)).toHaveLength(1);
  });

  test('to a command from the menu is a message of its own when the command is over or the assistant was restarted', async () => {
    await using world = await startDiscordWorld();
    const { discord, direct, owner } = world;
    discord.faultNext(FILL, { status: 404, description: 'Unknown Webhook' });
    const first = discord.commandsOf(direct, owner, 'status');
    await waitFor(() => textsIn(world, direct).length === 1, { ...slow, what: 'an answer' });
    expect(first.post).toBeUndefined();
    discord.setFaultHandler((route) => (FILL.test(route) ? { status: 500 } : undefined));
    const second = discord.commandsOf(direct, owner, 'status');
    await waitFor(() => discord.calls.filter(({ route }) => FILL.test(route)).length >= 2, { ...slow, what: 'a try' });
    await world.restart();
    await waitFor(() => textsIn(world, direct).length === 2, { ...slow, what: 'the second answer' });
    expect([second.isGone, second.post]).toEqual([true, undefined]);
  });

  test('is not told twice after a kill between its sending and its record', async () => {
    await using world = await startDiscordWorld();
    world.model.reply('Hello.');
    let isDown = true;
    world.discord.setFaultHandler((route) => (isDown && SEND.test(route) ? 'reset-after' : undefined));
    world.discord.sends(world.direct, world.owner, 'hi');
    await reads(world, world.direct, 'Hello.');
    await world.restart();
    isDown = false;
    await emptied(world);
    expect(textsIn(world, world.direct)).toEqual(['Hello.']);
  });
});
