import { describe, expect, test } from 'vitest';
import type { InboundDraft } from '../../src/core/bus/messages.ts';
import { groupOptions, type GroupOptions, GroupTalk } from '../../src/core/channels/inbound/group-talk.ts';
import { inboundDraft } from '../support/inbound.ts';

const MINUTE = 60_000;

function talkOf(options: Partial<GroupOptions> = {}): GroupTalk {
  return new GroupTalk({ ...groupOptions.parse({}), ...options });
}

function says(name: string, text: string, more: Partial<InboundDraft> = {}): InboundDraft {
  const sender = { id: name, name, isBot: false };
  return inboundDraft({ chatType: 'group', chatId: '-1', sender, text, receivedAt: 0, ...more });
}

const UNASKED = 'it did not mention me or reply to me, which groups.policy asked for';
const TOO_MANY = 'other bots had begun as many turns in that hour as groups.botTurnsPerHour allows';

const contextOf = (draft: InboundDraft | string): readonly string[] =>
  typeof draft === 'string' ? [] : draft.context.map(({ senderName, text }) => `${senderName}: ${text}`);

describe('in a group', () => {
  test('what is said to others begins nothing, and is read along with the next message that is meant', () => {
    const talk = talkOf();
    expect(talk.hear(says('Ann', 'the train is late'), false)).toBe(UNASKED);
    expect(talk.hear(says('Bob', 'again'), false)).toBe(UNASKED);
    const heard = talk.hear(says('Ann', '@bot when is the next?'), true);
    expect(heard).toMatchObject({ text: '@bot when is the next?', mentioned: true });
    expect(contextOf(heard)).toEqual(['Ann: the train is late', 'Bob: again']);
    expect(contextOf(talk.hear(says('Ann', '@bot and then?'), true))).toEqual([]);
  });

  test('an album is heard whole when one of its parts is meant, and files of others are named', () => {
    const talk = talkOf({ followUpSeconds: 0 });
    const part = (name: string, by = 'Ann', at = 0): InboundDraft =>
      says(by, '', {
        media: [{ kind: 'image', mediaType: 'image/png', path: '', source: name, name }],
        externalId: `m:${by}${name}`,
        metadata: { burst: 'album', album: 'g1' },
        receivedAt: at,
      });
    talk.hear(part('of-bob', 'Bob'), false);
    talk.hear(part('first'), false);
    const heard = talk.hear(part('second'), true);
    expect(heard).toMatchObject({ media: [{ source: 'first' }, { source: 'second' }] });
    expect(contextOf(heard)).toContain('Bob: [image of-bob]');
    expect(talk.hear(part('third', 'Ann', 900), false)).toMatchObject({ media: [{ source: 'third' }] });
    expect(talk.hear(part('bobs', 'Bob', 900), false)).toBe(UNASKED);
  });

  test('a message that is brought again is heard once: nothing said before it is lost, no bot has a turn less', () => {
    const talk = talkOf({ botTurnsPerHour: 1 });
    const before = says('Ann', 'the train is late');
    const asked = says('Bob', '@bot when is the next?', { sender: { id: 'Bob', name: 'Bob', isBot: true } });
    for (let times = 0; times < 3; times += 1) {
      expect(talk.hear(before, false)).toBe(UNASKED);
      expect(contextOf(talk.hear(asked, true))).toEqual(['Ann: the train is late']);
    }
  });

  test('what the owner said is known as the owner’s: no forward, nothing with a file, and nobody else’s words', () => {
    const talk = talkOf();
    const image = { kind: 'image', mediaType: 'image/png', path: '' } as const;
    talk.hear(says('Ann', 'mine', { role: 'owner' }), false);
    talk.hear(says('Ann', 'not mine', { role: 'owner', untrusted: true }), false);
    talk.hear(says('Ann', 'look', { role: 'owner', media: [image] }), false);
    talk.hear(says('Bob', 'his', { role: 'trusted' }), false);
    const heard = talk.hear(says('Ann', '@bot hi', { role: 'owner' }), true);
    expect(typeof heard !== 'string' && heard.context.map(({ isOwners }) => isOwners === true)).toEqual([
      true,
      false,
      false,
      false,
    ]);
  });

  test('no more than 50 messages are read along, and none that is older than an hour', () => {
    const talk = talkOf();
    for (let n = 0; n < 60; n += 1) talk.hear(says('Ann', `line ${n}`, { receivedAt: n }), false);
    expect(contextOf(talk.hear(says('Ann', 'x', { receivedAt: 100 }), true))).toEqual(
      Array.from({ length: 50 }, (_, n) => `Ann: line ${n + 10}`),
    );
    talk.hear(says('Ann', 'old'), false);
    expect(contextOf(talk.hear(says('Ann', 'x', { receivedAt: 61 * MINUTE }), true))).toEqual([]);
  });

  test('each chat and thread has its own talk', () => {
    const talk = talkOf();
    talk.hear(says('Ann', 'here', { threadId: '7' }), false);
    expect(contextOf(talk.hear(says('Ann', 'x'), true))).toEqual([]);
    expect(contextOf(talk.hear(says('Ann', 'x', { threadId: '7' }), true))).toEqual(['Ann: here']);
  });

  test('whoever spoke to it may go on for a minute without a mention, from the answer on; others may not', () => {
    const talk = talkOf();
    talk.hear(says('Ann', '@bot hi'), true);
    expect(talk.hear(says('Bob', 'me too', { receivedAt: 30_000 }), false)).toBe(UNASKED);
    talk.answered({ chatId: '-1' }, 50_000);
    expect(talk.hear(says('Ann', 'and now?', { receivedAt: 110_000 }), false)).toMatchObject({ mentioned: true });
    expect(talk.hear(says('Ann', 'anyone?', { receivedAt: 171_000 }), false)).toBe(UNASKED);
  });

  test('a clock that was put back keeps nobody going on, and no bot from beginning turns', () => {
    const talk = talkOf({ botTurnsPerHour: 1 });
    const day = 24 * 60 * MINUTE;
    const bot = { id: 'B', name: 'B', isBot: true };
    talk.hear(says('Ann', '@bot hello', { receivedAt: day }), true);
    talk.hear(says('B', '@bot hello', { sender: bot, receivedAt: day }), true);
    expect(talk.hear(says('Ann', 'not for you', { receivedAt: MINUTE, externalId: 'm:2' }), false)).toBe(UNASKED);
    const again = says('B', '@bot again', { sender: bot, receivedAt: MINUTE, externalId: 'm:3' });
    expect(talk.hear(again, true)).toMatchObject({ text: '@bot again' });
  });

  test('with followUpSeconds 0 each message needs a mention', () => {
    const talk = talkOf({ followUpSeconds: 0 });
    talk.hear(says('Ann', '@bot hi'), true);
    expect(talk.hear(says('Ann', 'and now?', { receivedAt: 1 }), false)).toBe(UNASKED);
  });

  test('that is open everything is heard, marked as meant or not', () => {
    const talk = talkOf({ policy: 'open' });
    expect(talk.hear(says('Ann', 'what a day'), false)).toMatchObject({ mentioned: false });
    expect(talk.hear(says('Ann', '@bot right?'), true)).toMatchObject({ mentioned: true });
  });

  test('other bots begin no more turns than an hour allows, and never go on without a mention', () => {
    const talk = talkOf({ botTurnsPerHour: 2 });
    const bot = (receivedAt: number): InboundDraft =>
      says('R2', 'beep', { sender: { id: 'R2', isBot: true }, receivedAt });
    const heard = [0, 1, 2, 3_600_001].map((at) => talk.hear(bot(at), true));
    expect(heard.map((one) => (typeof one === 'string' ? one : 'taken'))).toEqual([
      'taken',
      'taken',
      TOO_MANY,
      'taken',
    ]);
    expect(talk.hear(bot(3_600_002), false)).toBe(UNASKED);
  });
});
