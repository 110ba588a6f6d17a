import { expect, test } from 'vitest';
import { readUpdate, type Reading, type ReadingContext } from '../../src/channels/telegram/inbound.ts';
import { updateBody } from '../../src/channels/telegram/update.ts';

const ME = { id: 99, username: 'test_bot', first_name: 'Jeeves' };
const GROUP = { id: -100, type: 'supergroup', title: 'G' };
const MENTION = { text: '@test_bot hi', entities: [{ type: 'mention', offset: 0, length: 9 }] };

function read(message: Readonly<Record<string, unknown>>, access: Partial<ReadingContext['access']>): Reading['type'] {
  const update = { update_id: 1, message: { message_id: 10, date: 1_700_000_000, ...message } };
  const groups = { policy: 'mention' as const, allow: [], allowBots: [] };
  const context: ReadingContext = {
    channel: 'telegram',
    me: ME,
    access: { allowFrom: [], owners: [], groups, ...access },
    isPaired: () => false,
    now: 0,
  };
  return readUpdate(updateBody.parse(update), context).type;
}

test('the bot does not hear itself, even where it was named among the bots that are heard', () => {
  const groups = { policy: 'mention' as const, allow: [], allowBots: ['99', '98'] };
  const says = (id: number): Reading['type'] =>
    read({ from: { id, is_bot: true, first_name: 'B' }, chat: GROUP, ...MENTION }, { groups });
  expect([says(98), says(99)]).toEqual(['message', 'nothing']);
});

test('a name that somebody can take lets nobody in', () => {
  const from = { id: 7, is_bot: false, first_name: 'Ada', username: 'ada' };
  const chat = { id: 7, type: 'private' };
  for (const name of ['ada', '@ada', 'Ada']) {
    expect(read({ from, chat, text: 'hi' }, { allowFrom: [name], owners: [name] })).toBe('stranger');
  }
  expect(read({ from: { ...from, username: '8' }, chat, text: 'hi' }, { allowFrom: ['8'], owners: ['8'] })).toBe(
    'stranger',
  );
});
