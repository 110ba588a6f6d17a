import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { DiscordPost } from '../support/discord-chats.ts';
import {
  lastHeard,
  OWNER,
  postsIn,
  reads,
  somebody,
  startDiscordWorld,
  textsIn,
  type DiscordWorld,
} from '../support/discord-world.ts';
import { records } from '../support/validate.ts';
import { waitFor } from '../support/wait.ts';

const buttonOf = (post: DiscordPost, label: string): string =>
  String(
    post.components.flatMap((row) => records(row['components'])).find((one) => one['label'] === label)?.['custom_id'],
  );

describe('on Discord', () => {
  let world: DiscordWorld;
  const friend = somebody('Finn');
  const helper = somebody('Helper', { bot: true });

  beforeAll(async () => {
    world = await startDiscordWorld({
      discord: { allowFrom: ['*'], owners: [OWNER], groups: { debounceMs: 0, followUpSeconds: 0 } },
    });
  });
  afterAll(async () => {
    await world[Symbol.asyncDispose]();
  });
  const mention = (text: string): string => `<@${world.discord.bot.id}> ${text}`;

  test('a mention in a channel is answered there, read without the mention and with names in the place of ids', async () => {
    world.model.reply('I see.');
    const place = world.discord.addChannel({ name: 'planning' });
    world.discord.sends(place, friend, mention(`ask <@${world.owner.id}> in <#${place.id}> about <a:party:12345>`), {
      facts: { mentions: [world.owner, world.discord.bot] },
    });
    await reads(world, place, 'I see.');
    expect(lastHeard(world)).toContain('ask @Olive in #planning about :party:');
    expect(lastHeard(world)).not.toContain(world.discord.bot.id);
  });

  test('its role and its name mean it too; another role and another name do not', async () => {
    const place = world.discord.addChannel();
    const role = [...world.discord.chats.guilds.values()].find(({ id }) => id === place.guildId)?.botRole;
    world.model.reply('By role.', 'By name.');
    world.discord.sends(place, friend, '<@&999> hello there');
    world.discord.sends(place, friend, 'Test Bots are everywhere');
    world.discord.sends(place, friend, `<@&${role}> hello`);
    await reads(world, place, 'By role.');
    world.discord.sends(place, friend, 'Test Bot, are you there?');
    await reads(world, place, 'By name.');
    expect(textsIn(world, place)).toEqual(['By role.', 'By name.']);
  });

  test('a thread is a conversation of its own, and its tape is named after channel and thread', async () => {
    const place = world.discord.addChannel();
    const thread = world.discord.addThread(place);
    world.model.reply('In the thread.');
    world.discord.sends(thread, friend, mention('hello'));
    await reads(world, thread, 'In the thread.');
    expect(postsIn(world, place)).toEqual([]);
    expect((await world.tape(`discord:${place.id}:${thread.id}`)).length).toBeGreaterThan(0);
  });

  test('a skill with a Chinese name is called by that name', async () => {
    const folder = join(world.workspace, 'skills', 'sky');
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'SKILL.md'), '---\nname: 天气\ndescription: Weather.\n---\nLook at the sky.');
    const place = world.discord.direct(world.owner);
    world.model.reply('Sunny.');
    world.discord.sends(place, world.owner, '/天气 北京');
    await reads(world, place, 'Sunny.');
    expect(world.model.requests.at(-1)?.text).toContain('Look at the sky.');
    await rm(folder, { recursive: true });
  });

  test('webhooks and other bots begin nothing, nor does what Discord itself says', async () => {
    const place = world.discord.addChannel();
    const asked = world.model.requests.length;
    world.discord.sends(place, helper, mention('beep'));
    world.discord.sends(place, friend, mention('boop'), { facts: { webhook_id: '77' } });
    world.discord.sends(place, friend, '', { facts: { type: 7 } });
    world.model.reply('Yes.');
    world.discord.sends(place, friend, mention('last'));
    await reads(world, place, 'Yes.');
    expect(world.model.requests).toHaveLength(asked + 1);
  });

  test('a command from the menu is put off within 3 s and answered in its place', async () => {
    await waitFor(() => world.discord.commands.length > 0, { what: 'a menu' });
    const direct = world.discord.direct(friend);
    const open = world.discord.commandsOf(direct, friend, 'status');
    await waitFor(() => open.post, { what: 'an answer' });
    expect(open.answered).toBe(5);
    expect(open.post?.visible).toMatch(/model/iu);
    expect(textsIn(world, direct)).toHaveLength(1);
  });

  test('“Why?” in the menu of a message is answered to the one who asked alone', async () => {
    const place = world.discord.addChannel();
    world.model.reply('Blue.');
    world.discord.sends(place, friend, mention('which colour?'));
    const answer = await reads(world, place, 'Blue.');
    // An answer is seen while its turn still ends.
    await waitFor(async () => (await world.assistant.call('turnsList', { count: 1 }))[0]?.outcome !== null);
    const open = world.discord.commandsOn(place, friend, 'Why?', answer.id);
    const own = await waitFor(() => open.post, { what: 'an answer' });
    expect(open.answered).toBe(5);
    expect(own).toMatchObject({
      onlyFor: friend.id,
      visible: expect.stringContaining('“which colour?”: It was answered.'),
    });
    // What is said next stands in no place of its own.
    world.model.reply('Green.');
    world.discord.sends(place, friend, mention('and now?'));
    expect((await reads(world, place, 'Green.')).onlyFor).toBeUndefined();
    expect(postsIn(world, place).filter(({ onlyFor }) => onlyFor === undefined)).toHaveLength(2);
  });

  test.each([
    ['', 0],
    [', also by whoever is faster than the record of what was sent', 2000],
  ])('a button ends its waiting look, and what it asked is closed%s', async (_, delayMs) => {
    const { direct, owner } = world;
    world.model.setHandler(({ view }) =>
      view.toolResults.length > 0
        ? `Chosen: ${view.toolResults.at(-1)?.text.split('\n').at(-1)}`
        : { calls: [{ name: 'ask_user', arguments: { question: `Seat ${delayMs}?`, choices: ['window', 'aisle'] } }] },
    );
    world.discord.faultNext(/^POST \/channels\/\d+\/messages$/u, { delayMs });
    world.discord.sends(direct, owner, 'book a seat');
    const question = await reads(world, direct, new RegExp(`Seat ${delayMs}`, 'u'));
    const press = world.discord.presses(direct, question.id, buttonOf(question, 'aisle'), owner);
    await waitFor(() => press.answered === 6, { what: 'a look that has ended' });
    await waitFor(() => question.components.length === 0, { what: 'no buttons' });
    await reads(world, direct, 'Chosen: aisle');
  });

  test('an interaction of any shape leaves the others alone', async () => {
    const direct = world.discord.direct(friend);
    const data: readonly unknown[] = [
      null,
      {},
      { id: '1', type: 2 },
      { id: 'x', token: 4 },
      { id: '5', token: 't', type: 99 },
    ];
    for (const d of data) world.discord.gateway.dispatch('INTERACTION_CREATE', d);
    world.discord.gateway.dispatch('MESSAGE_CREATE', { nothing: true });
    world.discord.gateway.dispatch('MESSAGE_CREATE', { id: '1', channel_id: direct.id, author: 'nobody' });
    world.discord.gateway.dispatch('GUILD_CREATE', { id: 5, channels: 'none' });
    world.discord.gateway.sendRaw('{"op": 0');
    world.model.setHandler(() => 'Still here.');
    world.discord.sends(direct, friend, 'are you there?');
    await reads(world, direct, 'Still here.');
    const folder = join(world.home, 'quarantine');
    const kept = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), 'utf8')));
    expect(kept.filter((text) => text.includes('it has an unknown shape at author'))).toHaveLength(1);
  });

  test('a file whose address is over is had by its new one; an address in a private network is not asked', async () => {
    const direct = world.discord.direct(friend);
    world.model.setHandler(({ view }) => (view.lastUserText.includes('second') ? 'Two.' : 'One.'));
    const files = [{ name: 'notes.txt', bytes: Buffer.from('plums'), type: 'text/plain' }];
    const post = world.discord.chats.write(direct.id, friend, 'first', { files });
    const message = world.discord.chats.asMessage(post, { live: true });
    world.discord.expireFiles();
    world.discord.gateway.dispatch('MESSAGE_CREATE', message);
    await reads(world, direct, 'One.');
    expect(lastHeard(world)).toMatch(/"notes\.txt" is at \S+/u);
    const attachments = [
      { id: '1', filename: 'meta', size: 3, url: 'http://169.254.169.254/latest', content_type: null },
    ];
    world.discord.sends(direct, friend, 'second', { facts: { attachments } });
    await reads(world, direct, 'Two.');
    expect(lastHeard(world)).toMatch(/"meta" could not be fetched/u);
  });
});

test('a stranger is given a code in a direct chat, and silence everywhere else', async () => {
  await using world = await startDiscordWorld({ discord: { groups: { debounceMs: 0 } } });
  const stranger = somebody('Sam');
  const direct = world.discord.direct(stranger);
  world.discord.sends(world.channel, stranger, `<@${world.discord.bot.id}> let me in`);
  const command = world.discord.commandsOf(world.channel, stranger, 'status');
  world.discord.sends(direct, stranger, 'let me in');
  await reads(world, direct, /this code: \S{8}\./u);
  const later = world.discord.commandsOf(direct, stranger, 'status');
  world.model.reply('Hello.');
  world.discord.sends(world.direct, world.owner, 'hi');
  await reads(world, world.direct, 'Hello.');
  expect([command.answered, later.answered]).toEqual([undefined, undefined]);
  expect(textsIn(world, world.channel)).toEqual([]);
  expect(textsIn(world, direct)).toHaveLength(1);
  expect(world.model.requests).toHaveLength(1);
});

test('what needs a yes is asked with buttons, runs once, and a file goes out with its words', async () => {
  await using world = await startDiscordWorld({ config: { tools: { exec: { mode: 'ask', sandbox: 'off' } } } });
  await writeFile(join(world.workspace, 'plan.txt'), 'a plan');
  world.model.reply(
    { calls: [{ name: 'exec', arguments: { command: 'touch a.txt' } }] },
    { calls: [{ name: 'message', arguments: { text: 'The plan.', media: ['plan.txt'] } }] },
    'Done.',
  );
  world.discord.sends(world.direct, world.owner, 'make a file');
  const question = await reads(world, world.direct, /Run a command\?/u);
  expect(existsSync(join(world.workspace, 'a.txt'))).toBe(false);
  world.discord.presses(world.direct, question.id, buttonOf(question, 'Allow once'), world.owner);
  await reads(world, world.direct, 'Done.');
  expect(existsSync(join(world.workspace, 'a.txt'))).toBe(true);
  const files = postsIn(world, world.direct).flatMap((post) => post.files);
  expect(files.map(({ name, bytes }) => [name, Buffer.from(bytes).toString()])).toEqual([['plan.txt', 'a plan']]);
});
