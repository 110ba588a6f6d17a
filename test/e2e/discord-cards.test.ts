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
