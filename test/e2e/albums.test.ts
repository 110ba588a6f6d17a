import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Media } from '../../src/core/bus/messages.ts';
import { albumsOf as albums } from '../../src/core/channels/album.ts';
import { postsIn as discordPosts, startDiscordWorld } from '../support/discord-world.ts';
import { DIRECT, OWNER as SLACK_OWNER, startSlackWorld } from '../support/slack-world.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

/** Files with these names in the workspace, and a turn that sends them all. */
async function sending(world: World, names: readonly string[]): Promise<void> {
  await mkdir(world.workspace, { recursive: true });
  for (const name of names) await writeFile(join(world.workspace, name), `the bytes of ${name}`);
  world.model.reply({ calls: [{ name: 'message', arguments: { text: 'Here.', media: [...names] } }] }, 'Sent.');
}

const pictures = (count: number): readonly string[] => Array.from({ length: count }, (_, n) => `p${n + 1}.png`);
const albumsOf = (world: World): readonly number[] =>
  world.telegram.calls
    .filter(({ method }) => method === 'sendMediaGroup')
    .map(({ payload }) => (Array.isArray(payload['media']) ? payload['media'].length : 0));
const shown = (names: readonly string[], kind = 'photo'): readonly string[] => names.map((name) => `[${kind} ${name}]`);

async function asked(world: World, count: number): Promise<void> {
  world.telegram.userSays(OWNER, 'send them');
  await waitFor(() => chatOf(world).length >= count, { what: `${count} messages` });
}

describe('several files of one answer, on Telegram', () => {
  test('are one album, in their order, behind the text', async () => {
    await using world = await startWorld();
    await sending(world, pictures(3));
    await asked(world, 5);
    expect(chatOf(world)).toEqual(['Here.', ...shown(pictures(3)), 'Sent.']);
    expect(albumsOf(world)).toEqual([3]);
  });

  test('are albums of what Telegram shows together', async () => {
    await using world = await startWorld();
    const names = [...pictures(3), 'film.mp4', 'a.pdf', 'b.pdf', 'song.mp3', 'voice.ogg', 'c.pdf'];
    await sending(world, names);
    await asked(world, names.length + 2);
    expect(albumsOf(world)).toEqual([4, 2]);
    const bare = chatOf(world)
      .slice(1, -1)
      .map((text) => text.replace(/^\[\w+ (.*)\]$/u, '$1'));
    expect(bare).toEqual(names);
  });

  test('that Telegram refuses as an album go one by one', async () => {
    await using world = await startWorld();
    world.telegram.setFaultHandler(({ method }) => (method === 'sendMediaGroup' ? { status: 400 } : undefined));
    await sending(world, pictures(3));
    await asked(world, 5);
    await waitFor(async () => (await world.assistant.call('outboxList', {})).length === 0, { what: 'all is sent' });
    expect(chatOf(world).toSorted()).toEqual(['Here.', ...shown(pictures(3)), 'Sent.'].toSorted());
  });

  test('of which it is not known whether they arrived come once more, marked', async () => {
    await using world = await startWorld();
    let faults = 1;
    world.telegram.setFaultHandler(({ method }) =>
      method === 'sendMediaGroup' && faults-- > 0 ? 'reset-after' : undefined,
    );
    await sending(world, pictures(2));
    await asked(world, 6);
    const [first = '', second = ''] = shown(pictures(2));
    expect(chatOf(world)).toEqual(['Here.', first, second, `↻ ${first}`, second, 'Sent.']);
  });

  test('are sent once by a start that goes on where one was cut off', async () => {
    await using world = await startWorld();
    world.telegram.setFaultHandler(({ method }) => (method === 'sendMediaGroup' ? { status: 500 } : undefined));
    await sending(world, pictures(2));
    await asked(world, 1);
    await waitFor(() => world.telegram.calls.some(({ method }) => method === 'sendMediaGroup'), { what: 'an attempt' });
    world.telegram.setFaultHandler(undefined);
    await world.restart();
    await waitFor(() => chatOf(world).includes('Sent.'), { what: 'the answer' });
    expect(chatOf(world).filter((text) => text.includes('p1.png'))).toHaveLength(1);
  });
});

test('files are grouped by number, bytes and kind, and none is left out or moved', () => {
  const files = Array.from({ length: 23 }, (_, n): Media => {
    return { kind: 'image', mediaType: 'image/png', path: `/${n}`, size: n === 4 ? 90 : 10 };
  });
  const groups = albums(files, { most: 10, mostBytes: 120, kindOf: ({ path }) => (path === '/7' ? null : 'seen') });
  expect(groups.flat()).toEqual(files);
  expect(groups.map(({ length }) => length)).toEqual([4, 3, 1, 10, 5]);
});

test('several files of one answer are one message on Discord, also where the first attempt is not confirmed', async () => {
  await using world = await startDiscordWorld();
  await sending(world, pictures(3));
  let faults = 1;
  world.discord.setFaultHandler((route, body) =>
    route.startsWith('POST') && JSON.stringify(body).includes('p1.png') && faults-- > 0 ? 'reset-after' : undefined,
  );
  world.discord.sends(world.direct, world.owner, 'send them');
  await waitFor(() => discordPosts(world, world.direct).at(-1)?.visible === 'Sent.', { what: 'the answer' });
  const posts = discordPosts(world, world.direct).filter(({ files }) => files.length > 0);
  expect(posts.map(({ files }) => files.map(({ name }) => name))).toEqual([pictures(3)]);
});

test('several files of one answer are one post on Slack, also where the first attempt is not confirmed', async () => {
  await using world = await startSlackWorld();
  await sending(world, pictures(3));
  world.slack.faultNext('files.completeUploadExternal', 'reset-after');
  world.slack.sends(SLACK_OWNER, DIRECT, 'send them');
  await waitFor(() => world.slack.sentPosts.at(-1)?.text === 'Sent.', { what: 'the answer' });
  const posts = world.slack.sentPosts.filter(({ files }) => files.length > 0);
  expect(posts.map(({ files }) => files.map(({ name }) => name))).toEqual([pictures(3)]);
});
