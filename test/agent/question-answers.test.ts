import { describe, expect, test } from 'vitest';
import type { InboundMessage } from '../../src/core/bus/messages.ts';
import { questionId, toQuestion, type AskedRequest, type QuestionDraft } from '../../src/core/journal/questions.ts';
import { Row } from '../../src/core/storage/database.ts';
import { openQuestionsWorld, type QuestionsWorld } from '../support/questions-world.ts';

const CODE = 'abcd2345';
const ALWAYS = { program: ['/bin/ls'], folder: '/w', hash: 'standing' };
const MINUTE = 60_000;

/** A question that waits in a chat. */
async function ask(world: QuestionsWorld, overrides: Partial<QuestionDraft> = {}, request: Partial<AskedRequest> = {}) {
  const chatId = overrides.message?.chatId ?? '42';
  await world.journal.questions.ask({
    callId: 't.1',
    kind: 'approval',
    code: CODE,
    session: 'telegram:42',
    turn: null,
    person: null,
    own: true,
    choices: [],
    deadline: world.clock.now() + 10 * MINUTE,
    hash: 'h',
    request: { title: 'Run', detail: 'ls', reason: 'It asks.', ...request },
    message: {
      id: questionId(overrides.callId ?? 't.1'),
      channel: 'telegram',
      chatId,
      kind: 'approval',
      text: 'May it?',
      media: [],
      expiresAt: world.clock.now() + 10 * MINUTE,
      metadata: {},
    },
    ...overrides,
  });
}

const stateOf = (world: QuestionsWorld, callId = 't.1'): string | undefined =>
  world.journal.questions.get(callId)?.state;

/** What becomes of one question when this is said. */
async function after(said: Partial<InboundMessage>, request: Partial<AskedRequest> = {}): Promise<string | undefined> {
  await using world = await openQuestionsWorld();
  await ask(world, {}, request);
  await world.sends(said);
  return stateOf(world);
}

const press = (verdict: string): Partial<InboundMessage> => ({
  text: '',
  action: { id: `${verdict}:${CODE}`, value: '' },
});

describe('a question', () => {
  test.each([
    ['/approve', 'approved'],
    [`/approve ${CODE}`, 'approved'],
    [`/approve ${CODE.toUpperCase()}`, 'approved'],
    ['/deny', 'denied'],
    [`/deny ${CODE} not today`, 'denied'],
    ['yes', 'approved'],
    ['Y', 'approved'],
    ['Yes!', 'approved'],
    ['no', 'denied'],
    ['yes, go on', 'denied'],
    ['/approve zzzz9999', 'waiting'],
    ['/approve yes', 'waiting'],
    ['/help', 'waiting'],
  ])('that is met with %s is %s', async (text, state) => {
    expect(await after({ text })).toBe(state);
  });

  test.each([
    ['approve', 'approved'],
    ['deny', 'denied'],
    ['anything', 'waiting'],
  ])('whose button %s is pressed is %s', async (verdict, state) => {
    expect(await after(press(verdict))).toBe(state);
  });

  test.each(['trusted', 'guest'] as const)(
    'is not answered by somebody who is %s, whatever they know',
    async (role) => {
      for (const said of [
        { text: '/approve' },
        { text: `/approve ${CODE}` },
        { text: 'yes' },
        { text: 'no' },
        press('approve'),
      ]) {
        expect(await after({ ...said, role })).toBe('waiting');
      }
    },
  );

  test('is not answered by what an owner forwarded', async () => {
    expect(await after({ text: '/approve', untrusted: true })).toBe('waiting');
    for (const text of ['yes', 'no']) expect(await after({ text, untrusted: true })).toBe('waiting');
  });

  test('is not answered by what the assistant started by itself', async () => {
    expect(await after({ text: `/approve ${CODE}`, origin: 'cron' })).toBe('waiting');
    for (const text of ['yes', 'fine']) expect(await after({ text, origin: 'cron' })).toBe('waiting');
  });

  test('is not answered by a yes without a code in another chat or thread', async () => {
    expect(await after({ text: '/approve', chatId: '43' })).toBe('waiting');
    expect(await after({ text: '/approve', threadId: '9' })).toBe('waiting');
  });

  test('is answered once', async () => {
    await using world = await openQuestionsWorld();
    await ask(world);
    await world.sends({ text: `/deny ${CODE}` });
    await world.sends({ text: `/approve ${CODE}` });
    expect(stateOf(world)).toBe('denied');
    expect(world.taken.map(({ callId, reply }) => [callId, reply])).toEqual([
      ['t.1', 'Not allowed.'],
      [null, 'That question is closed already (denied).'],
    ]);
  });

  test('that was answered is not opened by asking it again', async () => {
    await using world = await openQuestionsWorld();
    await ask(world);
    await world.sends({ text: '/deny' });
    await ask(world);
    expect(stateOf(world)).toBe('denied');
    expect(world.journal.questions.waiting('approval')).toEqual([]);
  });

  test('is not answered after its deadline, by code or by button', async () => {
    await using world = await openQuestionsWorld();
    await ask(world);
    await world.clock.advance(10 * MINUTE);
    await world.sends({ text: `/approve ${CODE}` });
    await world.sends(press('approve'));
    expect(stateOf(world)).toBe('waiting');
    expect(world.taken.map(({ callId }) => callId)).toEqual([null, null]);
  });
});

describe('without a code', () => {
  const SECOND = 'wxyz6789';
  const LIST = [
    '2 questions are waiting here, so say which one you mean:\n',
    `- /approve ${CODE} for \`Run: ls\``,
    `- /approve ${SECOND} for \`Run: rm -rf build\``,
  ].join('\n');

  test.each([
    ['a yes', '/approve', LIST],
    ['a no', '/deny', LIST.replaceAll('/approve', '/deny')],
    ['a no with a reason', '/deny not on a Sunday', LIST.replaceAll('/approve', '/deny')],
    ['a yes from now on', '/approve always', LIST.replaceAll(/(?<= \/approve \w{8})/gu, ' always')],
  ])('%s to one of two questions answers neither: the reply lists both', async (_, text, reply) => {
    await using world = await openQuestionsWorld();
    await ask(world);
    await world.clock.advance(1);
    await ask(world, { callId: 't.2', code: SECOND }, { detail: 'rm -rf build' });
    await world.sends({ text });
    expect([stateOf(world), stateOf(world, 't.2')]).toEqual(['waiting', 'waiting']);
    expect(world.taken).toMatchObject([{ callId: null, reply }]);
    await world.sends({ text: `/approve ${SECOND}` });
    expect([stateOf(world), stateOf(world, 't.2')]).toEqual(['waiting', 'approved']);
  });

  test.each([
    ['/approve', 'approved'],
    ['/deny', 'denied'],
  ])('beside another one is the one whose code %s names', async (word, state) => {
    await using world = await openQuestionsWorld();
    await ask(world);
    await ask(world, { callId: 't.2', code: 'wxyz6789' });
    await world.sends({ text: `${word} wxyz6789` });
    expect([stateOf(world), stateOf(world, 't.2')]).toEqual(['waiting', state]);
  });

  test.each(['yes', 'No.', 'ok, please', '👍'])(
    '“%s” to one of two questions answers neither: the reply lists both',
    async (text) => {
      await using world = await openQuestionsWorld();
      await ask(world);
      await world.clock.advance(1);
      await ask(world, { callId: 't.2', code: SECOND }, { detail: 'rm -rf ./build' });
      await world.sends({ text });
      expect([stateOf(world), stateOf(world, 't.2')]).toEqual(['waiting', 'waiting']);
      const reply = world.taken.at(-1)?.reply ?? '';
      expect(reply).toContain(`/approve ${CODE} for \`Run: ls\`, or /deny ${CODE}`);
      expect(reply).toContain(`/approve ${SECOND} for \`Run: rm -rf ./build\`, or /deny ${SECOND}`);
      expect(world.journal.inbox.waiting('telegram:42', 10).map((one) => one.text)).not.toContain(text);
      await world.sends({ text: `/deny ${SECOND}` });
      await world.sends({ text: 'yes' });
      expect([stateOf(world), stateOf(world, 't.2')]).toEqual(['approved', 'denied']);
    },
  );

  test('words to one of two questions are a message like any other', async () => {
    await using world = await openQuestionsWorld();
    await ask(world);
    await ask(world, { callId: 't.2', code: SECOND });
    await world.sends({ text: 'not that one' });
    expect([stateOf(world), stateOf(world, 't.2')]).toEqual(['waiting', 'waiting']);
    expect(world.journal.inbox.waiting('telegram:42', 10).map(({ text }) => text)).toContain('not that one');
  });

  test.each([
    ['/approve', 'You wrote this before the question here was shown, so name its code:\n\n- /approve'],
    ['/deny', 'You wrote this before the question here was shown, so name its code:\n\n- /deny'],
    ['never mind', undefined],
  ])('“%s” that was written before the question was shown answers nothing', async (text, reply) => {
    // Not sent yet; sent, with its place in the chat unknown; delivered below the message, which arrived late.
    for (const state of ['pending', 'sending', 'below']) {
      await using world = await openQuestionsWorld();
      await ask(world);
      if (state === 'sending') {
        await world.journal.outbox.render(questionId('t.1'), ['May it?']);
        await world.journal.outbox.sending(questionId('t.1'), 0, { resend: false });
      }
      if (state === 'below') await world.deliver(11);
      await world.clock.advance(1_000);
      await world.receives({ text, externalId: 'm:10' });
      expect([state, stateOf(world), world.taken.length]).toEqual([state, 'waiting', reply === undefined ? 0 : 1]);
      if (reply !== undefined) expect(world.taken[0]?.reply).toContain(reply);
    }
  });

  test.each([
    ['by the numbers of the platform, whatever the clock says', '12', 'm:13'],
    ['by a number with a fraction', '1700000000.000100', 'm:1700000000.000200'],
  ])('an answer written below the question counts: %s', async (_, platformId, externalId) => {
    await using world = await openQuestionsWorld();
    await ask(world);
    await world.journal.outbox.render(questionId('t.1'), ['May it?']);
    await world.journal.outbox.delivered(questionId('t.1'), 0, platformId);
    await world.receives({ text: '/approve', externalId, receivedAt: 0 });
    expect(stateOf(world)).toBe('approved');
  });

  test.each(['/approve', '/deny', 'no'])('“%s” does not answer what another conversation asks', async (text) => {
    await using world = await openQuestionsWorld();
    await ask(world, { own: false });
    await world.sends({ text });
    expect(stateOf(world)).toBe('waiting');
    if (text !== 'no')
      expect(world.taken[0]?.reply).toMatch(/^I accept an answer without a code only in a direct chat/u);
    await world.sends({ text: `/approve ${CODE}` });
    expect(stateOf(world)).toBe('approved');
  });

  test('nothing is allowed for good, although it is the only question', async () => {
    await using world = await openQuestionsWorld();
    await ask(world, {}, { always: ALWAYS });
    await world.sends({ text: '/approve always' });
    expect([stateOf(world), world.journal.allowances.list()]).toEqual(['waiting', []]);
    expect(world.taken[0]?.reply).toBe(
      `To allow something from now on, name its code:\n\n- /approve ${CODE} always for \`Run: ls\``,
    );
  });
});

test('a state that nobody knows is a no', () => {
  const texts = {
    call_id: 't.1',
    code: CODE,
    session: 's',
    channel: 'telegram',
    chat: '42',
    state: 'granted',
    hash: 'h',
    kind: 'approval',
    choices: '[]',
    request: '{}',
  };
  const row = new Row({ ...texts, person: null, own: 1, answer: null, answered_by: null, deadline: 1 });
  expect(toQuestion(row).state).toBe('denied');
});

describe('allowed for good', () => {
  test('is only what was offered so', async () => {
    expect(await after({ text: `/approve ${CODE} always` })).toBe('waiting');
    expect(await after(press('always'))).toBe('waiting');
    expect(await after({ text: `/approve ${CODE} always` }, { always: ALWAYS })).toBe('approved');
  });

  test('is exactly that, until it is forgotten', async () => {
    await using world = await openQuestionsWorld();
    const { allowances } = world.journal;
    await ask(world, {}, { always: ALWAYS });
    await world.sends({ text: `/approve always ${CODE}` });
    expect([allowances.has('standing'), allowances.has('another')]).toEqual([true, false]);
    const [remembered] = allowances.list();
    expect(remembered).toMatchObject({ program: ['/bin/ls'], folder: '/w', createdBy: 'telegram:42' });
    await allowances.forget('nothing');
    expect(allowances.has('standing')).toBe(true);
    expect(await allowances.forget((remembered?.id ?? '').toUpperCase())).toMatchObject({ folder: '/w' });
    expect(allowances.has('standing')).toBe(false);
  });

  test('is nothing that somebody else says', async () => {
    await using world = await openQuestionsWorld();
    await ask(world, {}, { always: ALWAYS });
    await world.sends({ text: `/approve ${CODE} always`, role: 'trusted' });
    expect(world.journal.allowances.list()).toEqual([]);
  });
});
