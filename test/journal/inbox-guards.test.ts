import { expect, test } from 'vitest';
import { openQuestionsWorld, type QuestionsWorld } from '../support/questions-world.ts';
import { settle } from '../support/virtual-clock.ts';

const REQUEST = { title: 'Run a command', detail: 'ls', reason: 'It asks.', hash: 'h1' };

async function ask(deadLetters: QuestionsWorld, callId: string): Promise<void> {
  void deadLetters
    .start()
    .approve(deadLetters.call({ callId }), REQUEST)
    .catch(() => {});
  await settle();
}

test('an answer that a platform repeats answers no later question', async () => {
  await using deadLetters = await openQuestionsWorld();
  await ask(deadLetters, 't.1');
  await deadLetters.sends({ text: '/approve', externalId: 'm:same' });
  await ask(deadLetters, 't.2');
  await deadLetters.sends({ text: '/approve', externalId: 'm:same' });
  expect(['t.1', 't.2'].map((callId) => deadLetters.journal.questions.get(callId)?.state)).toEqual([
    'approved',
    'waiting',
  ]);
});

test('an edit changes the words of its own sender and of nobody else', async () => {
  await using deadLetters = await openQuestionsWorld();
  const group = { chatId: '-100', chatType: 'group', sessionKey: 'telegram:-100' } as const;
  const edit = (text: string): object => ({ text, edits: { externalId: 'm:first', text } });
  await deadLetters.sends({ ...group, text: 'first', externalId: 'm:first' });
  await deadLetters.sends({ ...group, ...edit('theirs'), sender: { id: '7', isBot: false }, role: 'guest' });
  await deadLetters.sends({ ...group, ...edit('mine') });
  const waiting = deadLetters.journal.inbox.waiting('telegram:-100', 10).map(({ sender, text }) => [sender.id, text]);
  expect(waiting).toEqual([
    ['42', 'mine'],
    ['7', 'theirs'],
  ]);
});
