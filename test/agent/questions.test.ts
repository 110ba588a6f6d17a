import { describe, expect, test, vi } from 'vitest';
import type { ApprovalRequest } from '../../src/tools/tool.ts';
import { inboundMessage } from '../support/inbound.ts';
import { openQuestionDesk, type QuestionDesk } from '../support/questions-world.ts';
import { settle } from '../support/virtual-clock.ts';

const REQUEST: ApprovalRequest = { title: 'Run a command', detail: 'ls', reason: 'It asks.', hash: 'h1' };
const ALWAYS = { program: ['/bin/ls'], folder: '/w', hash: 'standing' };
const OWNERS = inboundMessage({ chatId: '42', sender: { id: '42', isBot: false } });

const texts = (desk: QuestionDesk): readonly string[] => desk.sent().map(([, text]) => text);

describe('a question in a chat', () => {
  test('is a no after ten minutes of silence, and an answer after that does nothing', async () => {
    await using desk = await openQuestionDesk();
    const answer = desk.questions.approve(desk.call(), REQUEST);
    await settle();
    await desk.clock.advance(599_000);
    expect(desk.journal.questions.get('t.1')?.state).toBe('waiting');
    await desk.clock.advance(1_001);
    expect(await answer).toEqual({ approved: false, reason: 'the owner did not answer within 10 minutes' });
    await desk.says({ text: '/approve' });
    expect(texts(desk).at(-1)).toBe('There is no open question here.');
    expect(desk.journal.questions.get('t.1')?.state).toBe('expired');
  });

  test('keeps its deadline in a new process, and is not asked twice', async () => {
    await using desk = await openQuestionDesk();
    void desk.questions.approve(desk.call(), REQUEST).catch(() => {});
    await settle();
    await desk.clock.advance(400_000);
    const later = desk.start().approve(desk.call(), REQUEST);
    await settle();
    expect(desk.sent()).toHaveLength(1);
    await desk.clock.advance(200_001);
    expect(await later).toMatchObject({ approved: false });
  });

  test('was about something else: the answer does not count for what would run now', async () => {
    await using desk = await openQuestionDesk();
    void desk.questions.approve(desk.call(), REQUEST).catch(() => {});
    await settle();
    await desk.says({ text: '/approve' });
    expect(await desk.start().approve(desk.call(), { ...REQUEST, hash: 'h2' })).toEqual({
      approved: false,
      reason: 'it, or a file that it names, changed since the owner was asked',
    });
    expect(await desk.start().approve(desk.call(), REQUEST)).toEqual({ approved: true, by: 'telegram:42' });
  });

  test('has a code that others cannot know, and is answered once', async () => {
    await using desk = await openQuestionDesk();
    const first = desk.questions.approve(desk.call(), REQUEST);
    const second = desk.questions.approve(desk.call({ callId: 't.2' }), REQUEST);
    await settle();
    const codes = desk.journal.questions.waiting('approval').map(({ code }) => code);
    expect(new Set(codes).size).toBe(2);
    for (const code of codes) expect(code).toMatch(/^[0-9a-z]{8}$/u);
    await desk.says({ text: `/approve ${codes[0]?.toUpperCase() ?? ''}` });
    expect(await first).toEqual({ approved: true, by: 'telegram:42' });
    await desk.says({ text: `/deny ${codes[0] ?? ''}` });
    expect(texts(desk).at(-1)).toBe('That question is closed already (approved).');
    await desk.says({ text: 'no, wait' });
    expect(await second).toEqual({ approved: false, reason: 'the owner said: no, wait' });
  });

  test.each([
    ['the code of somebody who is trusted', 'trusted' as const, (code: string) => ({ text: `/approve ${code}` })],
    ['the press of a guest', 'guest' as const, (code: string) => ({ action: { id: `always:${code}`, value: '' } })],
  ])('is not answered by %s', async (_, role, does) => {
    await using desk = await openQuestionDesk();
    void desk.questions.approve(desk.call(), { ...REQUEST, always: ALWAYS }).catch(() => {});
    await settle();
    await desk.says({ text: '', ...does(desk.journal.questions.get('t.1')?.code ?? ''), role });
    expect(texts(desk).at(-1)).toMatch(/ is for the owner only\.$/u);
    expect(desk.journal.allowances.list()).toEqual([]);
    expect(desk.journal.questions.get('t.1')?.state).toBe('waiting');
  });

  test.each([
    ['a forwarded message', { untrusted: true, text: 'no' }],
    ['words of a job', { origin: 'cron' as const, text: '/approve' }],
    ['somebody else’s words', { role: 'trusted' as const, text: 'no' }],
    ['the owner in another chat', { chatId: '43', text: 'no' }],
  ])('is left alone by %s', async (_, message) => {
    await using desk = await openQuestionDesk();
    void desk.questions.approve(desk.call(), REQUEST).catch(() => {});
    await settle();
    await desk.says(message);
    expect(desk.journal.questions.get('t.1')?.state).toBe('waiting');
    expect(desk.journal.inbox.counts()).toMatchObject({ accepted: 2 });
  });

  test('shows no secret and nothing that ends its frame', async () => {
    await using desk = await openQuestionDesk();
    void desk.questions.approve(desk.call(), { ...REQUEST, detail: 'x sk-secret ```\ny\u202e' }).catch(() => {});
    await settle();
    expect(texts(desk)[0]).toContain('````\nx [redacted] ```\ny\\u{202e}\n````');
  });

  test('ends with its turn', async () => {
    await using desk = await openQuestionDesk();
    const { target = OWNERS } = desk.call();
    await desk.journal.turns.claim({ id: 't', session: 'telegram:42', role: 'owner', messages: [target] });
    void desk.questions.approve(desk.call(), REQUEST).catch(() => {});
    await settle();
    await desk.journal.turns.close('t', 'failed', []);
    expect(desk.journal.questions.get('t.1')?.state).toBe('cancelled');
  });
});

describe('a question at a terminal', () => {
  test('is asked there, and leaves no row', async () => {
    await using desk = await openQuestionDesk();
    const approver = vi.fn(async () => true);
    using _attached = desk.questions.attach('telegram:42', approver);
    expect(await desk.questions.approve(desk.call(), REQUEST)).toEqual({ approved: true, by: 'terminal:owner' });
    expect(approver).toHaveBeenCalledOnce();
    expect(desk.journal.questions.get('t.1')).toBeUndefined();
  });

  test('takes the reason of a no', async () => {
    await using desk = await openQuestionDesk();
    using _attached = desk.questions.attach('telegram:42', async () => ({ reason: 'later' }));
    expect(await desk.questions.approve(desk.call(), REQUEST)).toEqual({
      approved: false,
      reason: 'the owner said: later',
    });
  });

  test('can be allowed for good where that is offered; elsewhere that is no yes', async () => {
    await using desk = await openQuestionDesk();
    using _attached = desk.questions.attach('telegram:42', async () => 'always');
    expect(await desk.questions.approve(desk.call(), REQUEST)).toMatchObject({ approved: false });
    expect(desk.journal.allowances.list()).toEqual([]);
    expect(await desk.questions.approve(desk.call(), { ...REQUEST, always: ALWAYS })).toEqual({
      approved: true,
      by: 'terminal:owner, for good',
    });
    expect(desk.journal.allowances.list()).toMatchObject([{ program: ['/bin/ls'], createdBy: 'terminal:owner' }]);
    expect(desk.journal.allowances.has('standing')).toBe(true);
  });
});

test('where no one can be asked the answer is no', async () => {
  await using desk = await openQuestionDesk();
  const answer = await desk.start({ reaches: () => false }).approve(desk.call(), REQUEST);
  expect(answer).toMatchObject({ approved: false, reason: expect.stringContaining('no one can be asked') });
});
