import { describe, expect, test } from 'vitest';
import type { InboundDraft } from '../../src/core/bus/messages.ts';
import { PERSON, TelegramWorld } from '../support/telegram-world.ts';
import { waitFor } from '../support/wait.ts';

const LINK = 'https://a.example/page?x=1';
const chat = { id: PERSON, type: 'private' };
const from = { id: PERSON, is_bot: false, first_name: 'Ada' };
const other = { id: 8, is_bot: false, first_name: 'Eve' };

/** What the channel makes of one message of the owner's. */
async function readOf(message: Readonly<Record<string, unknown>>): Promise<InboundDraft> {
  await using world = await TelegramWorld.open();
  world.server.pushUpdate({ message: { message_id: 10, date: 1_700_000_000, from, chat, ...message } });
  return await waitFor(() => world.accepted[0], { what: 'the message', timeoutMs: 3_000 });
}

const linked = (text: string, label: string): Readonly<Record<string, unknown>> => ({
  text,
  entities: [{ type: 'text_link', offset: text.indexOf(label), length: label.length, url: LINK }],
});

describe('addresses behind words', () => {
  test('are in the sender’s own text', async () => {
    const draft = await readOf(linked('👍 read this page, please', 'this page'));
    expect(draft.text).toBe(`👍 read this page (${LINK}), please`);
    expect(draft.untrusted).toBe(false);
  });

  test('are in a forward, as text of others', async () => {
    const draft = await readOf({ ...linked('read this page', 'this page'), forward_date: 1 });
    expect(draft).toMatchObject({ text: `read this page (${LINK})`, untrusted: true });
  });

  test('are in a caption', async () => {
    const { text, entities } = linked('read this page', 'this page');
    const draft = await readOf({ caption: text, caption_entities: entities, photo: [{ file_id: 'p' }] });
    expect(draft.text).toBe(`read this page (${LINK})`);
  });

  test('are in what is replied to', async () => {
    const answered = { message_id: 9, date: 1, from: other, chat, ...linked('see this page', 'this page') };
    const draft = await readOf({ text: 'true?', reply_to_message: answered });
    expect(draft.replyTo).toMatchObject({ text: `see this page (${LINK})`, author: 'other' });
  });

  test('behind buttons are read with them', async () => {
    const reply_markup = {
      inline_keyboard: [
        [
          { text: 'Open', url: LINK },
          { text: 'Like', callback_data: 'x' },
        ],
      ],
    };
    const forward = await readOf({ text: 'News', reply_markup, forward_date: 1 });
    expect(forward).toMatchObject({ text: `News\n[button: Open (${LINK})]`, untrusted: true });
    const answered = { message_id: 9, date: 1, from: other, chat, text: 'News', reply_markup };
    const reply = await readOf({ text: 'true?', reply_to_message: answered });
    expect(reply.replyTo?.text).toBe(`News\n[button: Open (${LINK})]`);
  });
});

describe('a reply to a message of another chat', () => {
  test('quotes what was marked there, as text of others', async () => {
    const origin = { type: 'channel', date: 1, chat: { id: -5, type: 'channel', title: 'Daily' }, message_id: 3 };
    const quote = { text: 'The door is green.', position: 0 };
    const draft = await readOf({ text: 'true?', external_reply: { origin, message_id: 3 }, quote });
    expect(draft).toMatchObject({
      text: 'true?',
      untrusted: false,
      replyTo: { senderName: 'Daily', text: 'The door is green.', author: 'other' },
    });
    expect(draft.replyTo?.externalId).not.toBe('m:3');
  });

  test('names what is there without a marked part', async () => {
    const origin = { type: 'user', date: 1, sender_user: other };
    const poll = { id: '1', question: 'Tea?', options: [{ text: 'yes' }] };
    const draft = await readOf({ text: 'true?', external_reply: { origin, poll } });
    expect(draft.replyTo).toMatchObject({ senderName: 'Eve', text: '[poll: Tea? (yes)]', author: 'other' });
  });
});

describe('a kind of message', () => {
  test('checklist is read', async () => {
    const tasks = [
      { id: 1, text: 'Milk', completion_date: 1_700_000_000 },
      { id: 2, text: 'Bread' },
    ];
    const draft = await readOf({ checklist: { title: 'Shopping', tasks } });
    expect(draft).toMatchObject({ text: '[checklist: Shopping]\n[x] Milk\n[ ] Bread', untrusted: true });
  });

  test('checklist that was ticked off is read', async () => {
    const tasks = [{ id: 1, text: 'Milk', completion_date: 1 }];
    const message = { message_id: 9, date: 1, from, chat, checklist: { title: 'Shopping', tasks } };
    const done = { checklist_message: message, marked_as_done_task_ids: [1] };
    const draft = await readOf({ checklist_tasks_done: done });
    expect(draft.text).toBe('[in the checklist Shopping, ticked off: Milk]');
  });

  test('rich message is read with its structure and files, as the sender’s own', async () => {
    const blocks = [
      { type: 'heading', size: 1, text: 'Plan' },
      { type: 'paragraph', text: ['See ', { type: 'url', text: { type: 'bold', text: 'this' }, url: LINK }, '.'] },
      { type: 'list', items: [{ label: '1.', blocks: [{ type: 'paragraph', text: 'Milk' }] }] },
      {
        type: 'table',
        cells: [
          [
            { text: 'a', align: 'left', valign: 'top' },
            { text: 'b', align: 'left', valign: 'top' },
          ],
        ],
      },
      { type: 'photo', photo: [{ file_id: 'small' }, { file_id: 'large' }] },
      { type: 'details', summary: 'More', blocks: [{ type: 'paragraph', text: 'Bread' }] },
    ];
    const draft = await readOf({ rich_message: { blocks } });
    expect(draft.text).toBe(`Plan\nSee this (${LINK}).\n1. Milk\na | b\nMore\nBread`);
    expect(draft.untrusted).toBe(false);
    expect(draft.media).toMatchObject([{ kind: 'image', source: 'large' }]);
  });

  test.each([
    [{ type: 'user', sender_user: other, date: 1 }, 'Eve'],
    [{ type: 'hidden_user', sender_user_name: 'Eve H.', date: 1 }, 'Eve H.'],
    [{ type: 'chat', sender_chat: { id: -5, title: 'Neighbours' }, date: 1 }, 'Neighbours'],
    [{ type: 'channel', chat: { id: -6, title: 'Daily\nnews' }, message_id: 3, date: 1 }, 'Daily news'],
  ])('a forward says whose message it was: %j', async (forward_origin, name) => {
    const draft = await readOf({ text: 'The door is green.', forward_origin });
    expect(draft).toMatchObject({ text: `The door is green.\n[forwarded from ${name}]`, untrusted: true });
  });

  test('a poll has its votes', async () => {
    const options = [
      { text: 'tea', voter_count: 3 },
      { text: 'coffee', voter_count: 1 },
    ];
    const draft = await readOf({ poll: { question: 'What?', options, total_voter_count: 4, is_closed: true } });
    expect(draft.text).toBe('[poll: What? (tea: 3 / coffee: 1; 4 voters; closed)]');
  });

  test.each(['story', 'paid_media', 'giveaway', 'a_kind_of_tomorrow'])(
    '%s is named as one that is not read',
    async (kind) => {
      const draft = await readOf({ [kind]: { id: 1 } });
      expect(draft.text).toBe(`[${kind.replaceAll('_', ' ')}: messages of this kind can't be read here]`);
      expect(draft.untrusted).toBe(false);
    },
  );

  test.each<readonly [string, unknown]>([
    ['poll', { id: '1', type: 'quiz', question: 'Tea?', options: [{ id: 1 }] }],
    ['dice', { emoji: '🎲' }],
    ['contact', { phone_number: 1 }],
    ['location', { latitude: 'x' }],
    ['venue', { title: 1 }],
    ['sticker', 'x'],
    ['photo', { file_id: 1 }],
    ['voice', {}],
    ['checklist', { title: 'x' }],
    ['rich_message', {}],
    ['game', { title: 'x' }],
  ])('a %s of another shape is not met with silence', async (kind, odd) => {
    const said = `[${kind.replaceAll('_', ' ')}: messages of this kind can't be read here]`;
    const draft = await readOf({ [kind]: odd });
    expect(draft.text).toBe(said);
    if (kind === 'photo') expect((await readOf({ [kind]: odd, caption: 'see' })).text).toBe(`see\n${said}`);
  });

  test.each(['pinned_message', 'new_chat_title', 'chat_background_set', 'forum_topic_created'])(
    'that nobody wrote, %s, stays unanswered',
    async (kind) => {
      await using world = await TelegramWorld.open();
      world.server.pushUpdate({ message: { message_id: 10, date: 1, from, chat, [kind]: { id: 1 } } });
      world.server.userSays(PERSON, 'the next one');
      await waitFor(() => world.accepted.length > 0);
      expect(world.texts).toEqual(['the next one']);
    },
  );
});
