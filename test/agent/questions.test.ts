import { describe, expect, test, vi } from 'vitest';
import type { ApprovalRequest } from '../../src/core/tools/tool.ts';
import { inboundMessage } from '../support/inbound.ts';
import { openQuestionsWorld, type QuestionsWorld } from '../support/questions-world.ts';
import { settle } from '../support/virtual-clock.ts';

const REQUEST: ApprovalRequest = { title: 'Run a command', detail: 'ls', reason: 'It asks.', hash: 'h1' };
const ALWAYS = { program: ['/bin/ls'], folder: '/w', hash: 'standing' };
const OWNERS = inboundMessage({ chatId: '42', sender: { id: '42', isBot: false } });

const texts = (world: QuestionsWorld): readonly string[] => world.sent().map(([, text]) => text);

describe('a question in a chat', () => {
  test('is a no after ten minutes of silence, and an answer after that does nothing', async () => {
    await using world = await openQuestionsWorld();
    const answer = world.questions.approve(world.call(), REQUEST);
    await settle();
    await world.clock.advance(599_000);
    expect(world.journal.questions.get('t.1')?.state).toBe('waiting');
    await world.clock.advance(1_001);
    expect(await answer).toEqual({ approved: false, reason: 'the owner did not answer within 10 minutes' });
    await world.sends({ text: '/approve' });
    expect(texts(world).at(-1)).toBe('There is no open question here.');
    expect(world.journal.questions.get('t.1')?.state).toBe('expired');
  });

  test('keeps its deadline in a new process, and is not asked twice', async () => {
    await using world = await openQuestionsWorld();
    void world.questions.approve(world.call(), REQUEST).catch(() => {});
    await settle();
    await world.clock.advance(400_000);
    const later = world.start().approve(world.call(), REQUEST);
    await settle();
    expect(world.sent()).toHaveLength(1);
    await world.clock.advance(200_001);
    expect(await later).toMatchObject({ approved: false });
  });

  test('was about something else: the answer does not count for what would run now', async () => {
    await using world = await openQuestionsWorld();
    void world.questions.approve(world.call(), REQUEST).catch(() => {});
    await settle();
    await world.sends({ text: '/approve' });
    expect(await world.start().approve(world.call(), { ...REQUEST, hash: 'h2' })).toEqual({
      approved: false,
      reason: 'it, or a file that it names, changed since the owner was asked',
    });
    expect(await world.start().approve(world.call(), REQUEST)).toEqual({ approved: true, by: 'telegram:42' });
  });

  test('has a code that others cannot know, and is answered once', async () => {
    await using world = await openQuestionsWorld();
    const first = world.questions.approve(world.call(), REQUEST);
    const second = world.questions.approve(world.call({ callId: 't.2' }), REQUEST);
    await settle();
    const codes = world.journal.questions.waiting('approval').map(({ code }) => code);
    expect(new Set(codes).size).toBe(2);
    for (const code of codes) expect(code).toMatch(/^[0-9a-z]{8}$/u);
    await world.sends({ text: `/approve ${codes[0]?.toUpperCase() ?? ''}` });
    expect(await first).toEqual({ approved: true, by: 'telegram:42' });
    await world.sends({ text: `/deny ${codes[0] ?? ''}` });
    expect(texts(world).at(-1)).toBe('That question is closed already (approved).');
    await world.sends({ text: 'no, wait' });
    expect(await second).toEqual({ approved: false, reason: 'the owner said: no, wait' });
  });

  test.each([
    ['the code of somebody who is trusted', 'trusted' as const, (code: string) => ({ text: `/approve ${code}` })],
    ['the press of a guest', 'guest' as const, (code: string) => ({ action: { id: `always:${code}`, value: '' } })],
  ])('is not answered by %s', async (_, role, does) => {
    await using world = await openQuestionsWorld();
    void world.questions.approve(world.call(), { ...REQUEST, always: ALWAYS }).catch(() => {});
    await settle();
    await world.sends({ text: '', ...does(world.journal.questions.get('t.1')?.code ?? ''), role });
    expect(texts(world).at(-1)).toMatch(/ is for the owner only\.$/u);
    expect(world.journal.allowances.list()).toEqual([]);
    expect(world.journal.questions.get('t.1')?.state).toBe('waiting');
  });

  test.each([
    ['a forwarded message', { untrusted: true, text: 'no' }],
    ['words of a job', { origin: 'cron' as const, text: '/approve' }],
    ['somebody else’s words', { role: 'trusted' as const, text: 'no' }],
    ['the owner in another chat', { chatId: '43', text: 'no' }],
  ])('is left alone by %s', async (_, message) => {
    await using world = await openQuestionsWorld();
    void world.questions.approve(world.call(), REQUEST).catch(() => {});
    await settle();
    await world.sends(message);
    expect(world.journal.questions.get('t.1')?.state).toBe('waiting');
    expect(world.journal.inbox.counts()).toMatchObject({ accepted: 2 });
  });

  test('shows no secret and nothing that ends its frame', async () => {
    await using world = await openQuestionsWorld();
    void world.questions.approve(world.call(), { ...REQUEST, detail: 'x sk-secret ```\ny\u202e' }).catch(() => {});
    await settle();
    expect(texts(world)[0]).toContain('````\nx [redacted] ```\ny\\u{202e}\n````');
  });

  test('ends with its turn', async () => {
    await using world = await openQuestionsWorld();
    const { target = OWNERS } = world.call();
    await world.journal.turns.claim({ id: 't', session: 'telegram:42', role: 'owner', messages: [target] });
    void world.questions.approve(world.call(), REQUEST).catch(() => {});
    await settle();
    await world.journal.turns.close('t', 'failed', []);
    expect(world.journal.questions.get('t.1')?.state).toBe('cancelled');
  });
});

describe('a question at a terminal', () => {
  test('is asked there, and leaves no row', async () => {
    await using world = await openQuestionsWorld();
    const approver = vi.fn(async () => true);
    using _attached = world.questions.attach('telegram:42', approver);
    expect(await world.questions.approve(world.call(), REQUEST)).toEqual({ approved: true, by: 'terminal:owner' });
    expect(approver).toHaveBeenCalledOnce();
    expect(world.journal.questions.get('t.1')).toBeUndefined();
  });

  test('takes the reason of a no', async () => {
    await using world = await openQuestionsWorld();
    using _attached = world.questions.attach('telegram:42', async () => ({ reason: 'later' }));
    expect(await world.questions.approve(world.call(), REQUEST)).toEqual({
      approved: false,
      reason: 'the owner said: later',
    });
  });

  test('can be allowed for good where that is offered; elsewhere that is no yes', async () => {
    await using world = await openQuestionsWorld();
    using _attached = world.questions.attach('telegram:42', async () => 'always');
    expect(await world.questions.approve(world.call(), REQUEST)).toMatchObject({ approved: false });
    expect(world.journal.allowances.list()).toEqual([]);
    expect(await world.questions.approve(world.call(), { ...REQUEST, always: ALWAYS })).toEqual({
      approved: true,
      by: 'terminal:owner, for good',
    });
    expect(world.journal.allowances.list()).toMatchObject([{ program: ['/bin/ls'], createdBy: 'terminal:owner' }]);
    expect(world.journal.allowances.has('standing')).toBe(true);
  });
});

test('where no one can be asked the answer is no', async () => {
  await using world = await openQuestionsWorld();
  const answer = await world.start(() => false).approve(world.call(), REQUEST);
  expect(answer).toMatchObject({ approved: false, reason: expect.stringContaining('no one can be asked') });
});
