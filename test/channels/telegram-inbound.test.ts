import { describe, expect, test } from 'vitest';
import type { InboundDraft } from '../../src/core/bus/messages.ts';
import { readUpdate, type ReadingContext } from '../../src/extensions/telegram/inbound.ts';
import { updateBody } from '../../src/extensions/telegram/update.ts';

const NOW = 1_800_000_000_000;
const person = { id: 7, is_bot: false, first_name: 'Ada', last_name: 'L', username: 'ada' };
const bot = { id: 99, is_bot: true, first_name: 'Bot', username: 'test_bot' };

type Fields = Readonly<Record<string, unknown>>;

function read(message: Fields, access: Partial<ReadingContext['access']> = {}, kind = 'message') {
  const update = {
    update_id: 500,
    [kind]: { message_id: 10, date: 1_700_000_000, from: person, chat: { id: 7, type: 'private' }, ...message },
  };
  const context: ReadingContext = {
    channel: 'telegram',
    me: { id: 99, username: 'test_bot', first_name: 'Jeeves', can_read_all_group_messages: false },
    access: {
      allowFrom: ['7', '8'],
      owners: ['7'],
      groups: { policy: 'mention', allow: [], allowBots: [] },
      ...access,
    },
    pairedRole: (id) => (id === '555' ? 'trusted' : undefined),
    now: NOW,
  };
  return readUpdate(updateBody.parse(update), context);
}

function draft(...args: Parameters<typeof read>): InboundDraft {
  const reading = read(...args);
  if (reading.type !== 'message') throw new Error(`expected a message, was ${reading.type}`);
  return reading.draft;
}

const group = { id: -100, type: 'supergroup', title: 'G' };
const mention = { text: '@Test_Bot hi', entities: [{ type: 'mention', offset: 0, length: 9 }] };

test('a direct message becomes a draft with everything the assistant needs', () => {
  expect(draft({ text: 'hello' })).toEqual({
    channel: 'telegram',
    account: '99',
    chatId: '7',
    chatType: 'direct',
    sender: { id: '7', name: 'Ada L', username: 'ada', isBot: false },
    role: 'owner',
    text: 'hello',
    media: [],
    mentioned: true,
    context: [],
    receivedAt: NOW,
    externalId: 'm:10',
    origin: 'user',
    untrusted: false,
    metadata: { messageId: '10', sentAt: 1_700_000_000_000 },
  });
});

describe('who may write', () => {
  test('somebody who is not listed is a stranger, wherever they write', () => {
    const from = { ...person, id: 666 };
    const sender = { id: '666', name: 'Ada L', username: 'ada', isBot: false };
    const type = 'stranger';
    expect(read({ from, text: 'hi', chat: { id: 666, type: 'private' } })).toMatchObject({
      type,
      sender,
      chatId: '666',
      where: 'direct',
    });
    expect(read({ from, chat: group, ...mention })).toMatchObject({ type, sender, chatId: '-100', where: 'group' });
    expect(read({ from, chat: group, text: 'to the others' }).type).toBe('nothing');
  });

  test('somebody who was paired is trusted', () => {
    expect(draft({ from: { ...person, id: 555 }, text: 'hi' }).role).toBe('trusted');
  });

  test('a bot that is named is heard in groups as a guest, and never in a direct chat', () => {
    const groups = { policy: 'mention' as const, allow: [], allowBots: ['98'] };
    const from = { ...bot, id: 98 };
    expect(draft({ from, chat: group, ...mention }, { groups })).toMatchObject({ role: 'guest', chatType: 'group' });
    expect(read({ from, text: 'hi' }, { groups }).type).toBe('nothing');
    expect(read({ from: { ...bot, id: 97 }, chat: group, ...mention }, { groups }).type).toBe('nothing');
  });

  test('a listed person is trusted, an owner is an owner', () => {
    expect(draft({ from: { ...person, id: 8 }, text: 'hi' }).role).toBe('trusted');
    expect(draft({ text: 'hi' }).role).toBe('owner');
  });

  test.each([
    ['the bot itself', { from: bot, text: 'hi' }],
    ['other bots', { from: { ...bot, id: 98 }, text: 'hi' }],
    ['a message without a sender', { from: undefined, text: 'hi' }],
    ['a post of a channel', { chat: { id: -5, type: 'channel' }, ...mention }],
    ['somebody who joined', { new_chat_members: [person] }],
  ])('%s is ignored', (_, message) => {
    expect(read(message).type).toBe('nothing');
  });
});

describe('groups', () => {
  test.each([
    ['a mention by name, in any case', mention],
    ['its name at the beginning', { text: 'jeeves, what now?' }],
    [
      'a mention in a caption',
      { caption: mention.text, caption_entities: mention.entities, photo: [{ file_id: 'f' }] },
    ],
    [
      'a mention of the account',
      { text: 'Bot hi', entities: [{ type: 'text_mention', offset: 0, length: 3, user: bot }] },
    ],
    [
      'a command for this bot',
      { text: '/status@test_bot', entities: [{ type: 'bot_command', offset: 0, length: 16 }] },
    ],
    [
      'a reply to the bot',
      { text: 'yes', reply_to_message: { message_id: 9, date: 1, chat: group, from: bot, text: 'Sure?' } },
    ],
  ])('%s is for the assistant', (_, message) => {
    expect(draft({ chat: group, ...message })).toMatchObject({ chatType: 'group', chatId: '-100', mentioned: true });
  });

  test.each([
    ['a message to nobody', { text: 'hi all' }],
    ['a name without a mention', { text: 'test_bot is nice' }],
    ['its name as the beginning of another', { text: 'Jeevesson is here' }],
    ['a mention of somebody else', { text: '@test_bot2 hi', entities: [{ type: 'mention', offset: 0, length: 10 }] }],
    ['a command for another bot', { text: '/x@other_bot', entities: [{ type: 'bot_command', offset: 0, length: 12 }] }],
    [
      'a reply to somebody else',
      { text: 'yes', reply_to_message: { message_id: 9, date: 1, chat: group, from: person, text: '?' } },
    ],
    [
      'a message in a topic that the bot opened',
      {
        text: 'hi',
        is_topic_message: true,
        message_thread_id: 9,
        reply_to_message: { message_id: 9, date: 1, chat: group, from: bot },
      },
    ],
  ])('%s is not', (_, message) => {
    expect(read({ chat: group, ...message }).type).toBe('overheard');
  });

  test('with the policy off no group is heard', () => {
    expect(read({ chat: group, ...mention }, { groups: { policy: 'off', allow: [], allowBots: [] } }).type).toBe(
      'nothing',
    );
  });

  test('a list of groups is a limit, and lets nobody in unless the policy is open', () => {
    const elsewhere = { policy: 'mention' as const, allow: ['-200'], allowBots: [] };
    expect(read({ chat: group, ...mention }, { groups: elsewhere }).type).toBe('nothing');
    const from = { ...person, id: 666 };
    const stranger = { chat: group, from, ...mention };
    expect(read(stranger, { groups: { policy: 'mention', allow: ['-100'], allowBots: [] } }).type).toBe('stranger');
    expect(draft(stranger, { groups: { policy: 'open', allow: ['-100'], allowBots: [] } }).role).toBe('guest');
    expect(read(stranger, { groups: { policy: 'open', allow: [], allowBots: [] } }).type).toBe('stranger');
  });

  test('a topic is a thread of its own, a reply chain in an ordinary group is not', () => {
    expect(draft({ chat: group, ...mention, is_topic_message: true, message_thread_id: 5 }).threadId).toBe('5');
    expect(draft({ chat: group, ...mention, message_thread_id: 5 }).threadId).toBeUndefined();
  });
});

describe('what a message says', () => {
  test.each([
    ['/status@test_bot now', '/status now'],
    ['/status@Test_Bot', '/status'],
    ['/status@other_bot', '/status@other_bot'],
    ['mail me@test_bot', 'mail me@test_bot'],
  ])('the command %j is read as %j', (text, expected) => {
    expect(draft({ text }).text).toBe(expected);
  });

  test('an edit is a new message that says so, with a key of its own for each edit', () => {
    const edited = draft({ text: 'corrected', edit_date: 1_700_000_060 }, {}, 'edited_message');
    expect(edited.externalId).toBe('e:10:1700000060:500');
    expect(edited.text).toBe('[edited an earlier message, which now says:]\ncorrected');
  });

  test('an edit that changes no text (a live location moves) is ignored', () => {
    expect(read({ location: { latitude: 1, longitude: 1 }, edit_date: 2 }, {}, 'edited_message').type).toBe('nothing');
  });

  test.each([
    [{ sticker: { emoji: '🎉' } }, '[sticker 🎉]'],
    [
      { location: { latitude: 1.5, longitude: 2 }, venue: { title: 'Home', address: 'Here 1' } },
      '[place: Home, Here 1]\n[location: 1.5, 2]',
    ],
    [{ dice: { emoji: '🎲', value: 4 } }, '[🎲: 4]'],
    [{ text: 'look', location: { latitude: 'odd' } }, "look\n[location: messages of this kind can't be read here]"],
  ])('%j is read as %j', (message, text) => {
    expect(draft(message).text).toBe(text);
  });

  const file = { file_id: 'f', file_size: 3 };
  test.each([
    [{ photo: [{ file_id: 's' }, file] }, { kind: 'image', mediaType: 'image/jpeg', source: 'f', size: 3 }],
    [{ document: { ...file, file_name: 'a "b".pdf' } }, { kind: 'document', name: 'a "b".pdf' }],
    [{ document: { ...file, mime_type: 'image/png' } }, { kind: 'image', mediaType: 'image/png' }],
    [{ animation: file, document: file }, { kind: 'video' }],
    [{ voice: { ...file, mime_type: 'audio/ogg' } }, { kind: 'audio', speech: true }],
    [{ video_note: file }, { kind: 'video', speech: true }],
  ])('%j comes with a file', (message, media) => {
    const { text, media: files } = draft(message);
    expect(text).toBe('');
    expect(files).toMatchObject([{ path: '', ...media }]);
    expect(files).toHaveLength(1);
  });

  test.each([{ forward_origin: { type: 'user' } }, { forward_date: 1 }])('a forward (%j) is not trusted', (forward) => {
    expect(draft({ text: 'hi', ...forward }).untrusted).toBe(true);
  });

  test('a reply names who and what it answers; a quote goes before the whole text', () => {
    const answered = { message_id: 9, date: 1, chat: { id: 7, type: 'private' }, from: bot, text: 'first. second.' };
    expect(draft({ text: 'why?', reply_to_message: answered }).replyTo).toEqual({
      externalId: 'm:9',
      senderName: 'Bot',
      text: 'first. second.',
      author: 'assistant',
      sentAt: 1_000,
    });
    expect(draft({ text: 'why?', reply_to_message: answered, quote: { text: 'second.' } }).replyTo?.text).toBe(
      'second.',
    );
  });
});

test('a reply tells who wrote what it answers: a forward is nobody’s own', () => {
  const by = (from: unknown, more = {}): unknown =>
    draft({
      text: 'why?',
      reply_to_message: { message_id: 9, date: 1, chat: { id: 7, type: 'private' }, from, text: 'x', ...more },
    }).replyTo?.author;
  const me = { id: 7, is_bot: false };
  expect([by(bot), by(me), by({ id: 8, is_bot: false }), by(undefined)]).toEqual([
    'assistant',
    'sender',
    'other',
    'other',
  ]);
  expect([by(bot, { forward_date: 1 }), by(me, { forward_origin: { type: 'user' } })]).toEqual(['other', 'other']);
});

describe('more of the same is likely after', () => {
  test.each([
    ['split', { text: 'x'.repeat(4_000) }],
    ['album', { media_group_id: '77', photo: [{}], caption: 'one of three' }],
    ['forward', { text: 'hi', forward_date: 1 }],
  ])('%s', (burst, message) => {
    expect(draft(message).metadata['burst']).toBe(burst);
  });

  test('nothing else', () => {
    expect(draft({ text: 'x'.repeat(3_000) }).metadata).not.toHaveProperty('burst');
  });
});

const SHARED = {
  'text by an inline bot': { text: 'obey', via_bot: { id: 5, is_bot: true, first_name: 'Gif' } },
  'a caption by an inline bot': {
    caption: 'obey',
    photo: [{ file_id: 'p' }],
    via_bot: { id: 5, is_bot: true, first_name: 'Gif' },
  },
  'a contact card': { contact: { first_name: 'obey', phone_number: '1' } },
  'a place': {
    venue: { title: 'obey', address: 'x', location: { latitude: 1, longitude: 2 } },
    location: { latitude: 1, longitude: 2 },
  },
  'a poll': { poll: { id: '1', question: 'obey', options: [{ text: 'a' }] } },
  'a forwarded poll': { poll: { id: '1', question: 'obey', options: [{ text: 'a' }] }, forward_date: 1 },
} as const;

test.each(Object.entries(SHARED))('%s that the owner sends counts as text of others', (_, shared) => {
  expect(draft(shared)).toMatchObject({ role: 'owner', untrusted: true });
});

test.each(Object.entries(SHARED))('a reply to %s of one’s own quotes text of others', (_, shared) => {
  const answered = { message_id: 9, date: 1, from: person, chat: { id: 7, type: 'private' }, ...shared };
  expect(draft({ text: 'yes', reply_to_message: answered }).replyTo).toMatchObject({ author: 'other' });
});

test('what our own bot made inline, a location and a sticker are no text of others', () => {
  expect(draft({ text: 'hi', via_bot: bot })).toMatchObject({ untrusted: false });
  expect(draft({ location: { latitude: 1, longitude: 2 } })).toMatchObject({ untrusted: false });
  expect(draft({ sticker: { emoji: '👍' } })).toMatchObject({ untrusted: false });
});
