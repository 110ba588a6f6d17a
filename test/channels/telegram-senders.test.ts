import { describe, expect, test } from 'vitest';
import type { InboundResult } from '../../src/core/channels/inbound/inbound-result.ts';
import { readUpdate, type ReadingContext } from '../../src/extensions/telegram/inbound.ts';
import { updateBody } from '../../src/extensions/telegram/update.ts';
import { TelegramWorld } from '../support/telegram-world.ts';

const ME = { id: 99, username: 'test_bot', first_name: 'Jeeves', can_read_all_group_messages: false };
const GROUP = { id: -100, type: 'supergroup', title: 'G' };
const ADA = { id: 7, is_bot: false, first_name: 'Ada', username: 'ada' };
const ADAS_CHAT = { id: 7, type: 'private' };
const MENTION = { text: '@test_bot hi', entities: [{ type: 'mention', offset: 0, length: 9 }] };

type Fields = Readonly<Record<string, unknown>>;

function read(update: Fields, access: Partial<ReadingContext['access']>): InboundResult['type'] {
  const groups = { policy: 'mention' as const, allow: [], allowBots: [] };
  const context: ReadingContext = {
    channel: 'telegram',
    me: ME,
    access: { allowFrom: [], owners: [], groups, ...access },
    pairedRole: () => undefined,
    now: 0,
  };
  return readUpdate(updateBody.parse({ update_id: 1, ...update }), context).type;
}

const said = (message: Fields): Fields => ({ message: { message_id: 10, date: 1_700_000_000, ...message } });

test('the bot does not hear itself, even where it was named among the bots that are heard', () => {
  const groups = { policy: 'mention' as const, allow: [], allowBots: ['99', '98'] };
  const says = (id: number): InboundResult['type'] =>
    read(said({ from: { id, is_bot: true, first_name: 'B' }, chat: GROUP, ...MENTION }), { groups });
  expect([says(98), says(99)]).toEqual(['message', 'nothing']);
});

test('a name that somebody can take lets nobody in', () => {
  for (const name of ['ada', '@ada', 'Ada']) {
    const access = { allowFrom: [name], owners: [name] };
    expect(read(said({ from: ADA, chat: ADAS_CHAT, text: 'hi' }), access)).toBe('stranger');
  }
  const named = said({ from: { ...ADA, username: '8' }, chat: ADAS_CHAT, text: 'hi' });
  expect(read(named, { allowFrom: ['8'], owners: ['8'] })).toBe('stranger');
});

describe('a button', () => {
  const press = (from: Fields, chat: Fields, access: Partial<ReadingContext['access']>): InboundResult['type'] => {
    const message = { message_id: 10, date: 1_700_000_000, chat, from: { id: 99, is_bot: true, first_name: 'Bot' } };
    const query = { id: '1', from, data: 'approve:abcd2345', chat_instance: '1', message };
    return read({ callback_query: query }, access);
  };

  test('is pressed by those who may be heard', () => {
    expect(press(ADA, ADAS_CHAT, { allowFrom: ['7'] })).toBe('message');
    expect(press(ADA, GROUP, { allowFrom: ['7'] })).toBe('message');
  });

  test('does nothing when a stranger presses it, in any chat', () => {
    expect(press(ADA, ADAS_CHAT, { allowFrom: ['8'] })).toBe('nothing');
    expect(press(ADA, GROUP, { allowFrom: ['8'] })).toBe('nothing');
  });

  test('does nothing when a program presses it', () => {
    const groups = { policy: 'mention' as const, allow: [], allowBots: ['98'] };
    expect(press({ id: 98, is_bot: true, first_name: 'B' }, GROUP, { groups })).toBe('nothing');
  });
});

test('neither a message nor its edit makes a server fetch the addresses in it', async () => {
  await using world = await TelegramWorld.open();
  const { platformId } = await world.send('see https://a.example/x');
  const part = { messageId: 'm', kind: 'approval', chatId: '7', media: [], nonce: 'n', platformId } as const;
  const text = 'see https://a.example/y';
  await world.manager.channel('telegram')?.edit?.({ ...part, text }, new AbortController().signal);
  const shown = world.server.calls.filter(({ method }) => /^(?:sendMessage|editMessageText)$/u.test(method));
  expect(shown.map(({ payload }) => payload['link_preview_options'])).toEqual([
    { is_disabled: true },
    { is_disabled: true },
  ]);
});
