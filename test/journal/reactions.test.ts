import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ReactionDraft } from '../../src/core/bus/reactions.ts';
import { openJournal, type Journal } from '../../src/core/journal/journal.ts';
import { createIds } from '../../src/core/util/ids.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { systemRandom } from '../../src/core/util/random.ts';
import { inboundMessage } from '../support/inbound.ts';
import { tempFolder } from '../support/temp.ts';

interface Opened extends AsyncDisposable {
  readonly journal: Journal;
  /** The reactions that a new message of the person is told of. */
  readonly told: () => Promise<readonly string[]>;
  readonly reacts: (reaction: Partial<ReactionDraft>) => Promise<void>;
}

const message = inboundMessage();
const { channel, account, chatId, chatType, sender, role, sessionKey: session } = message;

/** A journal with one delivered answer, which the platform calls 77. */
async function open(): Promise<Opened> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await tempFolder());
  const newId = createIds(systemClock, systemRandom);
  const path = join(folder.path, 'state.db');
  const journal = stack.use(await openJournal({ path, backupPath: null, clock: systemClock, newId }));
  await journal.outbox.enqueue([
    { id: 'a:0', channel, chatId, kind: 'answer', text: 'Buy milk.', media: [], metadata: {} },
  ]);
  await journal.outbox.render('a:0', ['Buy milk.']);
  await journal.outbox.delivered('a:0', 0, '77');
  let count = 0;
  const owned = stack.move();
  return {
    journal,
    told: async () => {
      count += 1;
      const next = inboundMessage({ id: `m${count}`, externalId: `m:${count}` });
      await journal.inbox.accept([next]);
      await journal.turns.claim({ id: `t${count}`, session, role, messages: [next] });
      return journal.reactions.toldWith(next.id).map(({ emoji, text }) => `${emoji} ${text}`);
    },
    reacts: (reaction) => {
      const draft = {
        channel,
        account,
        chatId,
        chatType,
        sender,
        role,
        messageId: '77',
        emoji: '👍',
        isSet: true,
        at: 1,
      };
      return journal.reactions.keep([{ ...draft, ...reaction, outboundId: 'a:0', session }]);
    },
    [Symbol.asyncDispose]: () => owned[Symbol.asyncDispose](),
  };
}

test('a reaction is told with the next message, once', async () => {
  await using world = await open();
  await world.reacts({ emoji: '👍🏽' });
  expect(await world.told()).toEqual(['👍 Buy milk.']);
  expect(await world.told()).toEqual([]);
});

test('one that was taken back is not told, whatever the order in which that was heard', async () => {
  await using world = await open();
  await world.reacts({ at: 1 });
  await world.reacts({ at: 2, isSet: false });
  await world.reacts({ at: 1 });
  expect(await world.told()).toEqual([]);
  await world.reacts({ at: 3 });
  expect(await world.told()).toEqual(['👍 Buy milk.']);
});

test('one that says nothing about a message is not kept', async () => {
  await using world = await open();
  await world.reacts({ emoji: '🦄' });
  expect(await world.told()).toEqual([]);
});

test('of many the newest five are told, and the others never', async () => {
  await using world = await open();
  for (const [at, emoji] of ['👍', '👎', '❤', '🔥', '👏', '🎉', '💯'].entries()) await world.reacts({ emoji, at });
  expect((await world.told()).map((line) => line.split(' ')[0])).toEqual(['❤', '🔥', '👏', '🎉', '💯']);
  expect(await world.told()).toEqual([]);
});

test('it stands on an answer of the assistant, not on a question or a notice', async () => {
  await using world = await open();
  const { reactions, outbox } = world.journal;
  expect(reactions.about({ channel, chatId, messageId: '77' })).toEqual({ outboundId: 'a:0', threadId: undefined });
  expect(reactions.about({ channel, chatId: 'elsewhere', messageId: '77' })).toBeUndefined();
  await outbox.enqueue([{ id: 'q', channel, chatId, kind: 'approval', text: 'May I?', media: [], metadata: {} }]);
  await outbox.render('q', ['May I?']);
  await outbox.delivered('q', 0, '78');
  expect(reactions.about({ channel, chatId, messageId: '78' })).toBeUndefined();
});
