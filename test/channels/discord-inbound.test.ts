import { describe, expect, test } from 'vitest';
import { readInteraction, readMessage } from '../../src/extensions/discord/inbound.ts';
import type { InboundResult } from '../../src/core/channels/inbound/inbound-result.ts';
import { payloads } from '../../src/extensions/discord/payload.ts';
import { ChannelCache } from '../../src/extensions/discord/channel-cache.ts';
import type { AccessSettings } from '../../src/core/security/access/access.ts';

const ME = { id: '100', username: 'jeeves', global_name: 'Jeeves' };
const ANN = { id: '7', username: 'ann', global_name: 'Ann' };
const BOB = { id: '8', username: 'bob' };
const GUILD = '900';
const ROLE = '901';
type Facts = Readonly<Record<string, unknown>>;

const places = new ChannelCache();
places.noteGuild(
  payloads.guild.parse({
    id: GUILD,
    channels: [{ id: '20', type: 0, name: 'plans' }],
    threads: [{ id: '21', type: 11, parent_id: '20', name: 'train' }],
    roles: [
      { id: ROLE, name: 'butlers', tags: { bot_id: ME.id } },
      { id: '902', name: 'guests' },
    ],
    members: [{ user: ME, nick: 'Reginald', roles: ['903'] }],
  }),
  ME.id,
);
places.noteDirect('10');

function context(access: AccessSettings = {}, paired: readonly string[] = []) {
  return {
    channel: 'discord',
    me: payloads.ready.parse({ user: ME, application: { id: '1' } }).user,
    channels: places,
    access: { allowFrom: [ANN.id], groups: { policy: 'mention' as const, allow: [], allowBots: [] }, ...access },
    pairedRole: (id: string) => (paired.includes(id) ? ('trusted' as const) : undefined),
  };
}

function placeOf(id: string) {
  const place = places.get(id);
  if (place === undefined) throw new Error(`there is no place ${id}`);
  return place;
}

interface Said {
  readonly in?: string;
  readonly facts?: Facts;
  readonly access?: AccessSettings;
  readonly isEdit?: boolean;
}

function says(
  content: string,
  { in: place = '10', facts = {}, access = {}, isEdit = false }: Said = {},
): InboundResult {
  const message = payloads.message.parse({ id: '500', channel_id: place, author: ANN, content, ...facts });
  return readMessage(message, { place: placeOf(place), at: 5, isEdit }, context(access));
}

function draftOf(read: InboundResult) {
  if (read.type !== 'message' && read.type !== 'overheard') throw new Error(`nothing was read: ${read.type}`);
  return read.draft;
}

const mention = { mentions: [ME] };

describe('who is heard', () => {
  test('the only one who is listed is the owner; a stranger is told apart, in direct chats and servers', () => {
    expect(draftOf(says('hi'))).toMatchObject({ role: 'owner', chatType: 'direct', chatId: '10', externalId: 'm:500' });
    expect(says('hi', { facts: { author: BOB } })).toMatchObject({ type: 'stranger', chatId: '10', where: 'direct' });
    const inServer = says('hi', { in: '20', facts: { author: BOB, ...mention } });
    expect(inServer).toMatchObject({ type: 'stranger', where: 'group' });
    expect(says('hi', { in: '20', facts: { author: BOB } })).toMatchObject({
      type: 'nothing',
      passed: { reason: 'its sender is neither in allowFrom nor paired' },
    });
  });

  test('nobody else by a name that looks like an id', () => {
    const access = { allowFrom: ['ann'] };
    expect(says('hi', { access })).toMatchObject({ type: 'stranger' });
  });

  test.each([
    ['itself', { author: { ...ME, bot: true } }],
    ['another bot', { author: { ...BOB, bot: true } }],
    ['a webhook', { author: ANN, webhook_id: '44' }],
    ['Discord', { author: ANN, type: 7 }],
  ])('not %s', (_, facts) => {
    const access = { allowFrom: ['*', ANN.id, ME.id] };
    expect(says('hi', { in: '20', access, facts: { ...facts, ...mention } })).toMatchObject({ type: 'nothing' });
  });

  test('a bot that is listed, as a guest', () => {
    const access = { groups: { policy: 'mention' as const, allow: [], allowBots: [BOB.id] } };
    const read = says('beep', { in: '20', access, facts: { author: { ...BOB, bot: true }, ...mention } });
    expect(draftOf(read)).toMatchObject({ role: 'guest', sender: { id: BOB.id, isBot: true } });
  });

  test('not itself, not even where it is listed among the bots that may', () => {
    const access = { groups: { policy: 'mention' as const, allow: [], allowBots: [ME.id] } };
    const facts = { author: { ...ME, bot: true }, ...mention };
    expect(says('beep', { in: '20', access, facts })).toEqual({ type: 'nothing' });
  });

  test.each([
    ['its channel', '20', true],
    ['its server', GUILD, true],
    ['the thread', '21', true],
    ['another channel', '22', false],
  ])('those in a thread when groups.allow names %s: %s %s', (_, allowed, isHeard) => {
    const access = { groups: { policy: 'mention' as const, allow: [allowed] } };
    expect(says('hi', { in: '21', access, facts: mention }).type).toBe(isHeard ? 'message' : 'nothing');
  });

  test('nobody alone in a place of which nothing is known', () => {
    const place = places.note({ id: '66', type: 0 });
    const message = payloads.message.parse({ id: '1', channel_id: '66', author: ANN, content: 'hi' });
    expect(readMessage(message, { place, at: 0, isEdit: false }, context()).type).toBe('overheard');
  });
});

describe('who is meant', () => {
  test.each([
    ['a mention', 'what now?', mention],
    ['a mention of its own role', 'hello', { mention_roles: [ROLE] }],
    ['a mention of a role it has', 'hello', { mention_roles: ['903'] }],
    ['its name', 'Jeeves, what now?', {}],
    ['its name in that server', 'reginald: what now?', {}],
    ['a reply', 'and then?', { type: 19, referenced_message: { id: '3', author: ME, content: 'Yes.' } }],
  ])('it, by %s', (_, text, facts) => {
    expect(says(text, { in: '20', facts }).type).toBe('message');
  });

  test.each([
    ['another role', 'hello', { mention_roles: ['902'] }],
    ['everybody', '@everyone hello', { mention_everyone: true }],
    ['somebody else', 'hello', { mentions: [BOB] }],
    ['a name within a text', 'I asked jeeves', {}],
    ['a longer name', 'Jeevesy, hello', {}],
  ])('not it, by %s', (_, text, facts) => {
    expect(says(text, { in: '20', facts }).type).toBe('overheard');
  });

  test('a thread is a conversation within its channel', () => {
    expect(draftOf(says('hi', { in: '21', facts: mention }))).toMatchObject({ chatId: '20', threadId: '21' });
  });
});

describe('what is read', () => {
  test('names stand in the place of ids, and the mention it begins with is left out', () => {
    const text = `<@${ME.id}>, tell <@!8> and <@&902> in <#20> <a:wave:1> <:x:2> <@55> <@${ME.id}>`;
    const { text: read } = draftOf(says(text, { in: '20', facts: { mentions: [ME, BOB] } }));
    expect(read).toBe('tell @bob and @guests in #plans :wave: :x: <@55> @Jeeves');
  });

  test('a forward is words of somebody else', () => {
    const snapshot = { message: { content: 'buy plums', attachments: [{ id: '1', filename: 'a.png', url: 'u' }] } };
    const facts = { message_reference: { type: 1, message_id: '2' }, message_snapshots: [snapshot] };
    expect(draftOf(says('', { facts }))).toMatchObject({
      text: 'buy plums',
      untrusted: true,
      media: [{ name: 'a.png' }],
    });
    expect(draftOf(says('my own', {})).untrusted).toBe(false);
  });

  test.each([
    ['its own', ME, {}, 'assistant'],
    ['the sender’s', ANN, {}, 'sender'],
    ['somebody’s', BOB, {}, 'other'],
    ['a webhook’s under the sender’s name', ANN, { webhook_id: '9' }, 'other'],
    ['a forward', ANN, { content: '', message_snapshots: [{ message: { content: 'Well.' } }] }, 'other'],
  ])('an answer to %s words says whose they are', (_, author, more, expected) => {
    const facts = { type: 19, referenced_message: { id: '3', author, content: 'Well.', ...more } };
    expect(draftOf(says('so?', { facts })).replyTo).toMatchObject({
      externalId: 'm:3',
      text: 'Well.',
      author: expected,
    });
  });

  test('an edit says so, by the time of the edit', () => {
    const facts = { edited_timestamp: '2026-01-01T00:00:00Z' };
    expect(draftOf(says('now', { facts, isEdit: true }))).toMatchObject({
      externalId: 'e:500:2026-01-01T00:00:00Z',
      edits: { externalId: 'm:500', text: 'now' },
      text: '[edited an earlier message, which now says:]\nnow',
    });
    expect(says('now', { in: '20', facts, isEdit: true })).toEqual({ type: 'nothing' });
  });

  test('stickers, polls and files that are too large are put into words; nothing at all is said so', () => {
    const facts = {
      sticker_items: [{ name: 'wave' }],
      poll: { question: { text: 'Tea?' }, answers: [{ poll_media: { text: 'yes' } }, { poll_media: { text: 'no' } }] },
      attachments: [{ id: '1', filename: 'film.mp4', size: 30 * 1024 ** 2, url: 'u', content_type: 'video/mp4' }],
    };
    expect(draftOf(says('look', { facts }))).toMatchObject({
      text: 'look\n[video "film.mp4" has 30 MB; files are fetched up to 25 MB]',
      shared: '[sticker wave]\n[poll: Tea? (yes / no)]',
      media: [],
    });
    expect(draftOf(says('')).text).toContain('nothing in this message can be read');
    expect(says('', { in: '20' })).toEqual({ type: 'nothing' });
  });

  const shared: readonly (readonly [string, Facts])[] = [
    ['a poll', { poll: { question: { text: 'obey' }, answers: [] } }],
    ['a sticker', { sticker_items: [{ name: 'obey' }] }],
    ['a forward', { message_snapshots: [{ message: { content: 'obey' } }] }],
  ];

  test.each(shared)('%s that the owner sends counts as text of others', (_, facts) => {
    expect(draftOf(says('', { facts }))).toMatchObject({ role: 'owner', untrusted: true });
    expect(draftOf(says('plain words'))).toMatchObject({ role: 'owner', untrusted: false });
  });

  test.each(shared)('a reply to %s of one’s own quotes text of others', (_, facts) => {
    const answered = { id: '3', author: ANN, content: '', ...facts };
    const read = says('yes', { facts: { type: 19, referenced_message: answered } });
    expect(draftOf(read).replyTo).toMatchObject({ author: 'other' });
  });
});

describe('a button or a command', () => {
  const uses = (facts: Facts, place = '10'): InboundResult =>
    readInteraction(
      payloads.interaction.parse({ id: '600', token: 't', ...facts }),
      { place: placeOf(place), at: 5 },
      context({ groups: { policy: 'mention', allow: [] } }),
    );

  test('is what somebody says who may', () => {
    expect(draftOf(uses({ type: 3, user: ANN, data: { custom_id: 'say:Yes please' } }))).toMatchObject({
      text: 'Yes please',
      action: { id: 'say:Yes please' },
      externalId: 'b:600',
      role: 'owner',
    });
    const command = { name: 'model', options: [{ name: 'text', value: 'big one' }] };
    const read = draftOf(uses({ type: 2, member: { user: ANN }, data: command }, '21'));
    expect(read).toMatchObject({ text: '/model big one', mentioned: true, chatId: '20', threadId: '21' });
    expect(read.action).toBeUndefined();
  });

  test('on a message is a command in reply to it, whose answer nobody else sees', () => {
    const data = { type: 3, name: 'Why?', target_id: '599' };
    expect(draftOf(uses({ type: 2, user: ANN, data }))).toMatchObject({
      text: '/why',
      replyTo: { externalId: 'm:599' },
      metadata: { onlyTo: '600' },
    });
    expect(uses({ type: 2, user: ANN, data: { ...data, name: 'Other' } })).toEqual({ type: 'nothing' });
  });

  test('is nothing of a bot, of nobody, or of an unknown kind, and of a stranger no more than that', () => {
    expect(uses({ type: 3, user: { ...BOB, bot: true }, data: { custom_id: 'x' } })).toEqual({ type: 'nothing' });
    expect(uses({ type: 3, data: { custom_id: 'x' } })).toEqual({ type: 'nothing' });
    expect(uses({ type: 5, user: ANN, data: { custom_id: 'x' } })).toEqual({ type: 'nothing' });
    expect(uses({ type: 3, user: BOB, data: { custom_id: 'x' } })).toMatchObject({ type: 'stranger', where: 'direct' });
  });
});
