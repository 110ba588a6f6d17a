import { describe, expect, test } from 'vitest';
import type { InboundMessage } from '../../src/bus/messages.ts';
import { toApproval, type ApprovalDraft, type AskedRequest } from '../../src/journal/approvals.ts';
import { Row } from '../../src/storage/database.ts';
import { openApprovalDesk, type ApprovalDesk } from '../support/approval-desk.ts';

const CODE = 'abcd2345';
const ALWAYS = { program: ['/bin/ls'], folder: '/w', hash: 'standing' };
const MINUTE = 60_000;

/** A question that waits in a chat. */
async function ask(desk: ApprovalDesk, overrides: Partial<ApprovalDraft> = {}, request: Partial<AskedRequest> = {}) {
  const chatId = overrides.question?.chatId ?? '42';
  await desk.journal.approvals.ask({
    callId: 't.1',
    code: CODE,
    session: 'telegram:42',
    turn: null,
    deadline: desk.clock.now() + 10 * MINUTE,
    hash: 'h',
    request: { title: 'Run', detail: 'ls', reason: 'It asks.', ...request },
    question: {
      id: `question-${overrides.callId ?? 't.1'}`,
      channel: 'telegram',
      chatId,
      kind: 'approval',
      text: 'May it?',
      media: [],
      expiresAt: desk.clock.now() + 10 * MINUTE,
      metadata: {},
    },
    ...overrides,
  });
}

const stateOf = (desk: ApprovalDesk, callId = 't.1'): string | undefined => desk.journal.approvals.get(callId)?.state;

/** What becomes of one question when this is said. */
async function after(said: Partial<InboundMessage>, request: Partial<AskedRequest> = {}): Promise<string | undefined> {
  await using desk = await openApprovalDesk();
  await ask(desk, {}, request);
  await desk.says(said);
  return stateOf(desk);
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
      for (const said of [{ text: '/approve' }, { text: `/approve ${CODE}` }, { text: 'no' }, press('approve')]) {
        expect(await after({ ...said, role })).toBe('waiting');
      }
    },
  );

  test('is not answered by what an owner forwarded', async () => {
    expect(await after({ text: '/approve', untrusted: true })).toBe('waiting');
    expect(await after({ text: 'no', untrusted: true })).toBe('waiting');
  });

  test('is not answered by what the assistant started by itself', async () => {
    expect(await after({ text: `/approve ${CODE}`, origin: 'cron' })).toBe('waiting');
    expect(await after({ text: 'fine', origin: 'cron' })).toBe('waiting');
  });

  test('is not answered by a yes without a code in another chat or thread', async () => {
    expect(await after({ text: '/approve', chatId: '43' })).toBe('waiting');
    expect(await after({ text: '/approve', threadId: '9' })).toBe('waiting');
  });

  test('is answered once', async () => {
    await using desk = await openApprovalDesk();
    await ask(desk);
    await desk.says({ text: `/deny ${CODE}` });
    await desk.says({ text: `/approve ${CODE}` });
    expect(stateOf(desk)).toBe('denied');
    expect(desk.taken.map(({ answered, reply }) => [answered?.approved, reply])).toEqual([
      [false, 'Not allowed.'],
      [undefined, 'That question is closed already (denied).'],
    ]);
  });

  test('that was answered is not opened by asking it again', async () => {
    await using desk = await openApprovalDesk();
    await ask(desk);
    await desk.says({ text: '/deny' });
    await ask(desk);
    expect(stateOf(desk)).toBe('denied');
    expect(desk.journal.approvals.waiting()).toEqual([]);
  });

  test('is not answered after its deadline, by code or by button', async () => {
    await using desk = await openApprovalDesk();
    await ask(desk);
    await desk.clock.advance(10 * MINUTE);
    await desk.says({ text: `/approve ${CODE}` });
    await desk.says(press('approve'));
    expect(stateOf(desk)).toBe('waiting');
    expect(desk.taken.map(({ answered }) => answered)).toEqual([null, null]);
  });

  test('of two the newest is answered by a yes without a code', async () => {
    await using desk = await openApprovalDesk();
    await ask(desk);
    await desk.clock.advance(1);
    await ask(desk, { callId: 't.2', code: 'wxyz6789' });
    await desk.says({ text: '/approve' });
    expect([stateOf(desk), stateOf(desk, 't.2')]).toEqual(['waiting', 'approved']);
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
  };
  const row = new Row({ ...texts, reason: null, answered_by: null, deadline: 1, request: '{}' });
  expect(toApproval(row).state).toBe('denied');
});

describe('allowed for good', () => {
  test('is only what was offered so', async () => {
    expect(await after({ text: `/approve ${CODE} always` })).toBe('waiting');
    expect(await after(press('always'))).toBe('waiting');
    expect(await after({ text: `/approve ${CODE} always` }, { always: ALWAYS })).toBe('approved');
  });

  test('is exactly that, until it is forgotten', async () => {
    await using desk = await openApprovalDesk();
    const { allowances } = desk.journal;
    await ask(desk, {}, { always: ALWAYS });
    await desk.says({ text: '/approve always' });
    expect([allowances.has('standing'), allowances.has('another')]).toEqual([true, false]);
    const [remembered] = allowances.list();
    expect(remembered).toMatchObject({ program: ['/bin/ls'], folder: '/w', createdBy: 'telegram:42' });
    await allowances.forget('nothing');
    expect(allowances.has('standing')).toBe(true);
    await allowances.forget(remembered?.id ?? '');
    expect(allowances.has('standing')).toBe(false);
  });

  test('is nothing that somebody else says', async () => {
    await using desk = await openApprovalDesk();
    await ask(desk, {}, { always: ALWAYS });
    await desk.says({ text: `/approve ${CODE} always`, role: 'trusted' });
    expect(desk.journal.allowances.list()).toEqual([]);
  });
});
