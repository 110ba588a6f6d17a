import { expect, test } from 'vitest';
import { openQuestionDesk, type QuestionDesk } from '../support/questions-world.ts';
import { settle } from '../support/virtual-clock.ts';

const REQUEST = { title: 'Run a command', detail: 'ls', reason: 'It asks.', hash: 'h1' };

async function ask(desk: QuestionDesk, callId: string): Promise<void> {
  void desk
    .start()
    .approve(desk.call({ callId }), REQUEST)
    .catch(() => {});
  await settle();
}

test('an answer that a platform repeats answers no later question', async () => {
  await using desk = await openQuestionDesk();
  await ask(desk, 't.1');
  await desk.says({ text: '/approve', externalId: 'm:same' });
  await ask(desk, 't.2');
  await desk.says({ text: '/approve', externalId: 'm:same' });
  expect(['t.1', 't.2'].map((callId) => desk.journal.questions.get(callId)?.state)).toEqual(['approved', 'waiting']);
});

test('an edit changes the words of its own sender and of nobody else', async () => {
  await using desk = await openQuestionDesk();
  const group = { chatId: '-100', chatType: 'group', sessionKey: 'telegram:-100' } as const;
  const edit = (text: string): object => ({ text, edits: { externalId: 'm:first', text } });
  await desk.says({ ...group, text: 'first', externalId: 'm:first' });
  await desk.says({ ...group, ...edit('theirs'), sender: { id: '7', isBot: false }, role: 'guest' });
  await desk.says({ ...group, ...edit('mine') });
  const waiting = desk.journal.inbox.waiting('telegram:-100', 10).map(({ sender, text }) => [sender.id, text]);
  expect(waiting).toEqual([
    ['42', 'mine'],
    ['7', 'theirs'],
  ]);
});
