import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { DiscordPlace } from '../support/discord-chats.ts';
import { lastHeard, reads, somebody, startDiscordWorld, type DiscordWorld } from '../support/discord-world.ts';

const alerts = somebody('Pager', { bot: true });

let world: DiscordWorld;
beforeAll(async () => {
  world = await startDiscordWorld({ discord: { groups: { debounceMs: 0, allowBots: [alerts.id] } } });
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
});

const fencedText = (): string => /<untrusted[\s\S]*<\/untrusted[^>]*>/u.exec(lastHeard(world))?.[0] ?? '';

async function answered(place: DiscordPlace, send: () => void): Promise<void> {
  const answer = `Answer ${world.model.requests.length}.`;
  world.model.reply(answer);
  send();
  await reads(world, place, answer);
}

type Facts = Readonly<Record<string, unknown>>;

const CARDS: Readonly<Record<string, Facts>> = {
  'an embed': {
    embeds: [
      {
        type: 'rich',
        title: 'Disk full',
        url: 'https://alerts.example/7',
        description: 'on db1',
        fields: [{ name: 'Used', value: '97%' }],
      },
    ],
  },
  'an embed of fields only': {
    embeds: [{ fields: [{ name: 'Disk full', value: 'db1 97%, see https://alerts.example/7' }] }],
  },
  'a container of text and a link button': {
    components: [
      {
        type: 17,
        components: [
          { type: 10, content: '# Disk full' },
          {
            type: 9,
            components: [{ type: 10, content: 'db1 97%' }],
            accessory: { type: 2, style: 5, label: 'Open', url: 'https://alerts.example/7' },
          },
        ],
      },
    ],
  },
};

describe.each(Object.entries(CARDS))('%s', (_, card) => {
  const isRead = (): void => {
    for (const part of ['Disk full', 'db1', '97%', 'https://alerts.example/7']) expect(fencedText()).toContain(part);
  };

  test('in a forward is read as text of others', async () => {
    const facts = { message_reference: { type: 1 }, message_snapshots: [{ message: { content: '', ...card } }] };
    await answered(world.direct, () => world.discord.sends(world.direct, world.owner, '', { facts }));
    isRead();
  });

  test('of a bot that is listened to is context of the next mention', async () => {
    const place = world.discord.addChannel();
    world.discord.sends(place, alerts, '', { facts: card });
    const facts = { mentions: [world.discord.bot] };
    await answered(place, () => world.discord.sends(place, world.owner, `<@${world.discord.bot.id}> why?`, { facts }));
    isRead();
  });

  test('that a reply is to is quoted', async () => {
    const place = world.discord.addChannel();
    const other = somebody('Other', { bot: true });
    const post = world.discord.sends(place, other, '', { facts: card });
    const facts = { mentions: [world.discord.bot] };
    await answered(place, () =>
      world.discord.sends(place, world.owner, `<@${world.discord.bot.id}> why?`, { replyTo: post.id, facts }),
    );
    isRead();
  });
});

test('words beside a poll are the sender’s; the poll is text of others', async () => {
  const poll = { question: { text: 'Obey?' }, answers: [{ poll_media: { text: 'yes' } }] };
  await answered(world.direct, () =>
    world.discord.sends(world.direct, world.owner, 'what do you think?', { facts: { poll } }),
  );
  expect(fencedText()).toContain('Obey?');
  expect(fencedText()).not.toContain('what do you think?');
});

test('the preview of a link in a person’s words makes them nobody else’s', async () => {
  const embeds = [{ type: 'article', title: 'A page', url: 'https://a.example' }];
  await answered(world.direct, () =>
    world.discord.sends(world.direct, world.owner, 'see https://a.example', { facts: { embeds } }),
  );
  expect(lastHeard(world)).not.toContain('A page');
});

const PICTURE = 'https://cdn.example/chart.png';
const UNREAD = '[nothing in this message can be read here]';
const PICTURES: Readonly<Record<string, Facts>> = {
  'an embed with nothing but a picture': { embeds: [{ type: 'rich', image: { url: PICTURE, width: 5 } }] },
  'an embed with nothing but a thumbnail': { embeds: [{ thumbnail: { url: PICTURE } }] },
  'a gallery': { components: [{ type: 12, items: [{ media: { url: PICTURE }, description: 'Sales' }] }] },
  'a file in a container': {
    components: [{ type: 17, components: [{ type: 13, file: { url: PICTURE }, name: 'x' }] }],
  },
  'a section with a thumbnail': {
    components: [{ type: 9, components: [], accessory: { type: 11, media: { url: PICTURE } } }],
  },
};

describe.each(Object.entries(PICTURES))('%s', (_, card) => {
  test('in a forward is read', async () => {
    const facts = { message_reference: { type: 1 }, message_snapshots: [{ message: { content: '', ...card } }] };
    await answered(world.direct, () => world.discord.sends(world.direct, world.owner, '', { facts }));
    expect(fencedText()).toContain(PICTURE);
  });

  test('that a reply is to is quoted', async () => {
    const place = world.discord.addChannel();
    const post = world.discord.sends(place, somebody('Other', { bot: true }), '', { facts: card });
    const facts = { mentions: [world.discord.bot] };
    await answered(place, () =>
      world.discord.sends(place, world.owner, `<@${world.discord.bot.id}> why?`, { replyTo: post.id, facts }),
    );
    expect(fencedText()).toContain(PICTURE);
  });
});

test.each<readonly [string, Facts]>([
  ['a forward without anything', { message_reference: { type: 1 }, message_snapshots: [{ message: { content: '' } }] }],
  ['a forward whose original is missing', { message_reference: { type: 1 } }],
  ['an attachment of another shape', { attachments: [{ filename: 'x' }] }],
  ['a poll of another shape', { poll: { answers: 5 } }],
  ['a button that opens nothing', { components: [{ type: 1, components: [{ type: 2, style: 1, custom_id: 'x' }] }] }],
])('%s in a direct chat is not met with silence', async (_, facts) => {
  await answered(world.direct, () => world.discord.sends(world.direct, world.owner, '', { facts }));
  expect(lastHeard(world)).toContain(UNREAD);
});

test('a reply to a forward quotes what was forwarded, as text of others', async () => {
  const place = world.discord.addChannel();
  const snapshot = { content: 'The door is green.', embeds: [{ image: { url: PICTURE } }] };
  const post = world.discord.sends(place, world.owner, '', {
    facts: { message_reference: { type: 1 }, message_snapshots: [{ message: snapshot }] },
  });
  const facts = { mentions: [world.discord.bot] };
  await answered(place, () =>
    world.discord.sends(place, world.owner, `<@${world.discord.bot.id}> true?`, { replyTo: post.id, facts }),
  );
  expect(fencedText()).toContain('The door is green.');
  expect(fencedText()).toContain(PICTURE);
});

test('a mention without a word is answered', async () => {
  const place = world.discord.addChannel();
  const post = world.discord.sends(place, world.owner, 'The door is green.');
  const facts = { mentions: [world.discord.bot] };
  await answered(place, () =>
    world.discord.sends(place, world.owner, `<@${world.discord.bot.id}>`, { replyTo: post.id, facts }),
  );
  expect(lastHeard(world)).toContain('The door is green.');
});
