import { describe, expect, test } from 'vitest';
import type { InboundMessage } from '../../src/core/bus/messages.ts';
import { questionId } from '../../src/core/journal/questions.ts';
import { openQuestionsWorld, type QuestionsWorld } from '../support/questions-world.ts';
import { settle } from '../support/virtual-clock.ts';

const CODE = 'abcd2345';
const HOUR = 3_600_000;

/** A question to the owner in their chat. */
async function ask(
  world: QuestionsWorld,
  overrides: { readonly callId?: string; readonly choices?: readonly string[] } = {},
): Promise<void> {
  const deadline = world.clock.now() + HOUR;
  const callId = overrides.callId ?? 't.1';
  await world.journal.questions.ask({
    kind: 'ask',
    callId,
    code: CODE,
    session: 'telegram:42',
    turn: 't',
    person: '42',
    own: true,
    choices: overrides.choices ?? ['red', 'green'],
    deadline,
    hash: '',
    request: { title: 'Which?', detail: '', reason: '' },
    message: {
      id: questionId(callId),
      channel: 'telegram',
      chatId: '42',
      kind: 'approval',
      text: 'Which?',
      media: [],
      expiresAt: deadline,
      metadata: {},
    },
  });
}

/** What the question was answered with; undefined: it still waits. */
async function answerTo(...said: readonly Partial<InboundMessage>[]): Promise<string | null | undefined> {
  await using world = await openQuestionsWorld();
  await ask(world);
  for (const message of said) await world.sends(message);
  const row = world.journal.questions.get('t.1');
  return row?.state === 'waiting' ? undefined : row?.answer;
}

test('a yes after an approval that came later than the question answers neither before that is settled', async () => {
  await using world = await openQuestionsWorld();
  await ask(world);
  await world.clock.advance(1);
  const controller = new AbortController();
  const call = world.call({ callId: 't.2', signal: controller.signal });
  const approval = world.start().approve(call, { title: 'Run', detail: 'ls', reason: 'It writes.' });
  await settle();
  await world.deliver();
  await world.sends({ text: 'yes' });
  expect(world.journal.questions.get('t.1')?.state).toBe('waiting');
  expect(world.journal.questions.get('t.2')?.state).toBe('waiting');
  expect(world.taken.at(-1)?.reply).toMatch(/so answer this first:\n\n- \/approve \w+ for `Run: ls`, or \/deny \w+$/u);
  controller.abort();
  await approval.catch(() => {});
});

const press = (id: string): Partial<InboundMessage> => ({ text: '', action: { id, value: '' } });

describe('a question to a person', () => {
  test.each([
    ['their next words', { text: ' the blue one ' }, 'the blue one'],
    ['the number of a choice', { text: '2' }, 'green'],
    ['a number that is none', { text: '7' }, '7'],
    ['the press of its button', press(`ask:${CODE}:0`), 'red'],
  ])('is answered by %s', async (_, said, answer) => {
    expect(await answerTo(said)).toBe(answer);
  });

  test.each<[string, Partial<InboundMessage>]>([
    ['somebody else in that chat', { text: 'red', sender: { id: '7', isBot: false } }],
    ['the press of somebody else', { ...press(`ask:${CODE}:0`), sender: { id: '7', isBot: false } }],
    ['their words in another chat', { text: 'red', chatId: '43' }],
    ['their words in another thread', { text: 'red', threadId: '9' }],
    ['what they forward', { text: 'red', untrusted: true }],
    ['what the assistant starts by itself', { text: 'red', origin: 'cron' }],
    ['a command', { text: '/help' }],
    ['a button of another question', press('ask:zzzz9999:0')],
    ['a button that is none of its choices', press(`ask:${CODE}:9`)],
  ])('is not answered by %s', async (_, said) => {
    expect(await answerTo(said)).toBeUndefined();
  });

  test.each([
    ['stop', 'Stop'],
    ['2', 'Stop'],
    ['/stop', undefined],
    ['go on', 'go on'],
  ])('that lists the choice "Stop" is answered by %s with %s', async (text, answer) => {
    await using world = await openQuestionsWorld();
    await ask(world, { choices: ['Continue', 'Stop'] });
    await world.sends({ text });
    expect(world.journal.questions.get('t.1')).toMatchObject(
      answer === undefined ? { state: 'cancelled', answer: null } : { state: 'answered', answer },
    );
  });

  test.each([[['red', 'green']], [[]]])('without such a choice is ended by the word stop', async (choices) => {
    await using world = await openQuestionsWorld();
    await ask(world, { choices });
    await world.sends({ text: 'stop' });
    expect(world.journal.questions.get('t.1')).toMatchObject({ state: 'cancelled', answer: null });
  });

  test.each(['stop', 'the blue one'])('is not answered by “%s” that was written before it was shown', async (text) => {
    await using world = await openQuestionsWorld();
    await ask(world, { choices: ['Continue', 'Stop'] });
    await world.receives({ text });
    expect(world.journal.questions.get('t.1')?.state).toBe(text === 'stop' ? 'cancelled' : 'waiting');
  });

  test('is told from another one by its button: each tells what became of it', async () => {
    await using world = await openQuestionsWorld();
    await ask(world);
    await world.sends(press(`ask:${CODE}:0`));
    await world.sends(press(`ask:${CODE}:1`));
    await world.sends(press('ask:zzzz9999:0'));
    expect(world.taken.map(({ reply }) => reply)).toEqual([
      '',
      'That question is closed already (answered).',
      'There is no open question named zzzz9999.',
    ]);
  });

  test('is answered once', async () => {
    expect(await answerTo({ text: 'red' }, { text: 'green' })).toBe('red');
  });

  test('is not answered after its time', async () => {
    await using world = await openQuestionsWorld();
    await ask(world);
    await world.clock.advance(HOUR);
    await world.sends({ text: 'red' });
    expect(world.journal.questions.get('t.1')?.state).toBe('waiting');
  });

  test('that was answered is not opened by asking it again', async () => {
    await using world = await openQuestionsWorld();
    await ask(world);
    await world.sends({ text: 'red' });
    await ask(world);
    expect(world.journal.questions.get('t.1')).toMatchObject({ state: 'answered', answer: 'red' });
  });
});
