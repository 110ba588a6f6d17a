import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import {
  healthOf,
  OWNER,
  reads,
  somebody,
  startDiscordWorld,
  textsIn,
  type DiscordWorld,
} from '../support/discord-world.ts';
import { recordingLog } from '../support/recording-log.ts';
import { waitFor } from '../support/wait.ts';

const HISTORY = /^GET \/channels\/\d+\/messages$/u;
const GROUPS = { debounceMs: 0 };

const echo = (world: DiscordWorld): void =>
  world.model.setHandler(({ view }) => `Heard: ${view.lastUserText.split('\n').at(-1)}`);
const says = (world: DiscordWorld, text: string, place = world.direct): string =>
  world.discord.sends(place, world.owner, text).id;
const mention = (world: DiscordWorld, text: string): string => `<@${world.discord.bot.id}> ${text}`;

async function answers(world: DiscordWorld, text: string): Promise<void> {
  says(world, text);
  await reads(world, world.direct, `Heard: ${text}`);
}

describe.concurrent('the connection to Discord', () => {
  test('is resumed when Discord asks for that, and what was said meanwhile is answered once', async () => {
    await using world = await startDiscordWorld();
    echo(world);
    await answers(world, 'one');
    world.discord.gateway.askToReconnect();
    await waitFor(() => !world.discord.gateway.isConnected, { what: 'a lost connection' });
    says(world, 'two');
    await reads(world, world.direct, 'Heard: two');
    expect([world.discord.gateway.resumes, world.discord.gateway.identifies]).toEqual([1, 1]);
    await answers(world, 'three');
    expect(textsIn(world, world.direct)).toEqual(['Heard: one', 'Heard: two', 'Heard: three']);
  });

  test('registers the commands of the menu when they changed, and not at each start', async () => {
    await using world = await startDiscordWorld();
    const calls = (method: string): number =>
      world.discord.calls.filter(({ route }) => route.startsWith(method) && route.endsWith('/commands')).length;
    for (let starts = 1; starts <= 3; starts += 1) {
      await waitFor(() => calls('GET') === starts, { what: `start ${starts}` });
      await waitFor(() => world.discord.commands.length > 0, { what: 'a menu' });
      await world.restart();
    }
    expect(calls('PUT')).toBe(1);
    // Another program with this bot.
    const address = world.discord.calls.find(({ route }) => route.startsWith('PUT'))?.route.slice('PUT '.length);
    await fetch(`${world.discord.apiBase}/v10${address}`, {
      method: 'PUT',
      headers: { Authorization: `Bot ${world.discord.token}`, 'Content-Type': 'application/json' },
      body: '[]',
    });
    expect(calls('PUT')).toBe(2);
    await world.restart();
    await waitFor(() => calls('PUT') === 3, { what: 'the menu again' });
  });

  test('begins anew when its session is over, and what was said meanwhile is answered once', async () => {
    await using world = await startDiscordWorld({ discord: { groups: GROUPS } });
    echo(world);
    await answers(world, 'one');
    world.discord.gateway.invalidate(false);
    await waitFor(() => !world.discord.gateway.isConnected, { what: 'a lost connection' });
    says(world, 'two');
    says(world, mention(world, 'three'), world.channel);
    await reads(world, world.direct, 'Heard: two');
    await reads(world, world.channel, 'Heard: three');
    expect(world.discord.gateway.identifies).toBe(2);
    expect(textsIn(world, world.direct)).toEqual(['Heard: one', 'Heard: two']);
  });

  test('that carries nothing any more is noticed by its heartbeat and made anew', async () => {
    await using world = await startDiscordWorld({ server: { heartbeatMs: 300 } });
    echo(world);
    await answers(world, 'one');
    await waitFor(() => world.discord.gateway.heartbeats >= 3, { what: 'three heartbeats' });
    world.discord.gateway.mute();
    says(world, 'two');
    await reads(world, world.direct, 'Heard: two');
    await waitFor(async () => (await healthOf(world)).state === 'running', { what: 'a running channel' });
    expect(textsIn(world, world.direct)).toEqual(['Heard: one', 'Heard: two']);
  });

  test('that is cut while Discord is down comes back with it', async () => {
    await using world = await startDiscordWorld();
    echo(world);
    await answers(world, 'one');
    world.discord.gateway.isDown = true;
    world.discord.gateway.drop();
    await waitFor(async () => (await healthOf(world)).state === 'reconnecting', { what: 'a lost connection' });
    expect((await healthOf(world)).detail).toMatch(/^The connection to Discord was closed/u);
    says(world, 'two');
    world.discord.gateway.isDown = false;
    await reads(world, world.direct, 'Heard: two');
    expect((await healthOf(world)).state).toBe('running');
  });

  test.each([
    ['the token is not taken any more', 4004, /refused the bot token .*"Reset Token".*channels\.discord\.token/u],
    [
      'the bot may not read messages any more',
      4014,
      /switch on "Message Content Intent".*"Privileged Gateway Intents"/u,
    ],
  ])('ends with what to do when %s', async (_, code, sentence) => {
    const log = recordingLog();
    await using world = await startDiscordWorld({ log });
    world.discord.gateway.drop(code);
    await waitFor(async () => (await healthOf(world)).state === 'failed', { what: 'a failed channel' });
    expect((await healthOf(world)).detail).toMatch(sentence);
    expect(JSON.stringify(log.lines)).not.toContain(world.discord.token);
  });

  test('is not made for a bot that may not read messages: the switch is named, the assistant runs', async () => {
    await using world = await startDiscordWorld({
      prepare: ({ gateway }) => {
        gateway.mayReadMessages = false;
      },
    });
    expect(await healthOf(world)).toMatchObject({ state: 'failed' });
    expect((await healthOf(world)).detail).toContain('Message Content Intent');
    expect((await world.assistant.call('info', {})).channels['terminal']).toMatchObject({ state: 'running' });
  });
});

describe.concurrent('what was written while nobody listened', () => {
  test('is answered in direct chats, channels and threads, also in one that is new, each once', async () => {
    await using world = await startDiscordWorld({ discord: { groups: { ...GROUPS, followUpSeconds: 0 } } });
    const { channel, discord } = world;
    echo(world);
    await answers(world, 'one');
    await world.assistant[Symbol.asyncDispose]();
    says(world, 'two');
    for (let n = 0; n < 120; n += 1) discord.chats.write(channel.id, somebody('Crowd'), `noise ${n}`);
    says(world, mention(world, 'three'), channel);
    const thread = discord.addThread(channel);
    says(world, mention(world, 'four'), thread);
    await world.restart();
    await reads(world, world.direct, 'Heard: two');
    await reads(world, channel, 'Heard: three');
    await reads(world, thread, 'Heard: four');
    const pages = discord.calls.filter(({ route }) => HISTORY.test(route)).length;
    await world.restart();
    await answers(world, 'five');
    expect([...textsIn(world, channel), ...textsIn(world, thread)]).toEqual(['Heard: three', 'Heard: four']);
    // Discord says which channels have news; a direct chat is looked at each time.
    expect(discord.calls.filter(({ route }) => HISTORY.test(route)).length - pages).toBe(1);
  });

  test('is answered in threads that were made meanwhile, one of them of an old message, by the first process too', async () => {
    await using world = await startDiscordWorld({ discord: { groups: { ...GROUPS, followUpSeconds: 0 } } });
    const { channel, discord } = world;
    echo(world);
    const old = says(world, mention(world, 'one'), channel);
    await reads(world, channel, 'Heard: one');
    discord.gateway.invalidate(false);
    await waitFor(() => !discord.gateway.isConnected, { what: 'a lost connection' });
    const threads = [discord.addThread(channel), discord.addThread(channel, { ofMessage: old })];
    for (const thread of threads) says(world, mention(world, `in ${thread.id}`), thread);
    for (const thread of threads) await reads(world, thread, `Heard: in ${thread.id}`);
    expect(threads.flatMap((thread) => textsIn(world, thread))).toHaveLength(2);
  });

  test('before the first process of a home had a connection is answered, in threads and channels', async () => {
    let ready = (): void => {};
    await using world = await startDiscordWorld({
      discord: { groups: { ...GROUPS, followUpSeconds: 0 } },
      prepare: ({ gateway }) => {
        gateway.isDown = true;
        ready = () => (gateway.isDown = false);
      },
    });
    const { channel, discord } = world;
    echo(world);
    const thread = discord.addThread(channel);
    says(world, mention(world, 'one'), thread);
    says(world, mention(world, 'two'), channel);
    ready();
    await reads(world, thread, 'Heard: one', { timeoutMs: 30_000 });
    await reads(world, channel, 'Heard: two', { timeoutMs: 30_000 });
  });

  test('is told from old channels by a process that follows a kill right after the first connection', async () => {
    await using world = await startDiscordWorld({ discord: { groups: { ...GROUPS, followUpSeconds: 0 } } });
    using db = new DatabaseSync(join(world.home, 'state.db'), { readOnly: true });
    const stored = (): number => Number(db.prepare('SELECT count(*) AS n FROM cursors').get()?.['n']);
    await waitFor(() => stored() > 0, { what: 'stored cursors', timeoutMs: 10_000 });
  });

  test('is not forgotten behind a live message when the history cannot be had yet, nor by a stop then', async () => {
    await using world = await startDiscordWorld();
    echo(world);
    await answers(world, 'one');
    await world.assistant[Symbol.asyncDispose]();
    says(world, 'two');
    let isDown = true;
    world.discord.setFaultHandler((route) => (isDown && HISTORY.test(route) ? { status: 500 } : undefined));
    await world.restart();
    says(world, 'three');
    await reads(world, world.direct, 'Heard: three', { timeoutMs: 40_000 });
    await world.restart();
    isDown = false;
    await reads(world, world.direct, 'Heard: two');
    expect(textsIn(world, world.direct).toSorted()).toEqual(['one', 'three', 'two'].map((n) => `Heard: ${n}`));
  });

  test('waits for nothing where the history may not be read', async () => {
    await using world = await startDiscordWorld({ discord: { allowFrom: [OWNER] } });
    echo(world);
    await answers(world, 'one');
    world.discord.setFaultHandler((route) =>
      HISTORY.test(route) ? { status: 403, description: 'Missing Access' } : undefined,
    );
    await world.restart();
    await answers(world, 'two');
  });
});
