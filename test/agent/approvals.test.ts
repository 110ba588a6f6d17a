import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { Approvals, type ApprovalsPorts, type AskedCall } from '../../src/agent/approvals.ts';
import type { InboundMessage } from '../../src/bus/messages.ts';
import { openJournal, type Journal } from '../../src/journal/journal.ts';
import type { ApprovalRequest } from '../../src/tools/tool.ts';
import { createIds } from '../../src/util/ids.ts';
import { systemRandom } from '../../src/util/random.ts';
import { inboundMessage } from '../support/inbound.ts';
import { tempFolder } from '../support/temp.ts';
import { settle, VirtualClock } from '../support/virtual-clock.ts';

const REQUEST: ApprovalRequest = { title: 'Run a command', detail: 'ls', reason: 'It asks.', hash: 'h1' };
const ALWAYS = { program: ['/bin/ls'], folder: '/w', hash: 'standing' };
const OWNERS = inboundMessage({ chatId: '42', sender: { id: '42', isBot: false } });

class Desk implements AsyncDisposable {
  readonly clock: VirtualClock;
  readonly journal: Journal;
  readonly approvals: Approvals;
  readonly stop = new AbortController();
  readonly #folder: AsyncDisposable;

  private constructor(clock: VirtualClock, journal: Journal, folder: AsyncDisposable) {
    this.clock = clock;
    this.journal = journal;
    this.#folder = folder;
    this.approvals = this.another();
  }

  static async open(): Promise<Desk> {
    const folder = await tempFolder();
    const clock = new VirtualClock();
    const path = join(folder.path, 'state.db');
    const journal = await openJournal({ path, backupPath: null, clock, newId: createIds(clock, systemRandom) });
    await journal.inbox.accept([OWNERS]);
    return new Desk(clock, journal, folder);
  }

  /** As a new process has it. */
  another(ports: Partial<ApprovalsPorts> = {}): Approvals {
    const approvals = new Approvals({
      ledger: this.journal.approvals,
      allowances: this.journal.allowances,
      clock: this.clock,
      random: systemRandom,
      mask: (text) => text.replaceAll('sk-secret', '[redacted]'),
      messages: () => 1,
      attach: async () => null,
      closed: () => {},
      reaches: (channel) => channel === 'telegram',
      ...ports,
    });
    this.journal.inbox.onAnswer(({ answered }) => {
      if (answered !== null) approvals.answered(answered);
    });
    return approvals;
  }

  call(overrides: Partial<AskedCall> = {}): AskedCall {
    const { signal } = this.stop;
    return { sessionKey: 'telegram:42', callId: 't.1', turnId: 't', signal, target: OWNERS, ...overrides };
  }

  async answer(overrides: Partial<InboundMessage>): Promise<void> {
    const n = (count += 1);
    const message = inboundMessage({ ...OWNERS, externalId: `m:answer${n}`, ...overrides, id: `answer${n}` });
    await this.journal.inbox.accept([message]);
    await settle();
  }

  /** What was put into the outbox. */
  get sent(): readonly string[] {
    return this.journal.outbox.page(0, 100).map(({ message }) => message.text);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.stop.abort();
    this.journal[Symbol.dispose]();
    await this.#folder[Symbol.asyncDispose]();
  }
}

let count = 0;

describe('a question in a chat', () => {
  test('is a no after ten minutes of silence, and an answer after that does nothing', async () => {
    await using desk = await Desk.open();
    const answer = desk.approvals.ask(desk.call(), REQUEST);
    await settle();
    await desk.clock.advance(599_000);
    expect(desk.journal.approvals.get('t.1')?.state).toBe('waiting');
    await desk.clock.advance(1_001);
    expect(await answer).toEqual({ approved: false, reason: 'the owner did not answer within 10 minutes' });
    await desk.answer({ text: '/approve' });
    expect(desk.sent.at(-1)).toBe('There is no open question here.');
    expect(desk.journal.approvals.get('t.1')?.state).toBe('expired');
  });

  test('keeps its deadline in a new process, and is not asked twice', async () => {
    await using desk = await Desk.open();
    void desk.approvals.ask(desk.call(), REQUEST).catch(() => {});
    await settle();
    await desk.clock.advance(400_000);
    const later = desk.another().ask(desk.call(), REQUEST);
    await settle();
    expect(desk.sent).toHaveLength(1);
    await desk.clock.advance(200_001);
    expect(await later).toMatchObject({ approved: false });
  });

  test('was about something else: the answer does not count for what would run now', async () => {
    await using desk = await Desk.open();
    void desk.approvals.ask(desk.call(), REQUEST).catch(() => {});
    await settle();
    await desk.answer({ text: '/approve' });
    expect(await desk.another().ask(desk.call(), { ...REQUEST, hash: 'h2' })).toEqual({
      approved: false,
      reason: 'it, or a file that it names, changed since the owner was asked',
    });
    expect(await desk.another().ask(desk.call(), REQUEST)).toEqual({ approved: true, by: 'telegram:42' });
  });

  test('has a code that others can not know, and is answered once', async () => {
    await using desk = await Desk.open();
    const first = desk.approvals.ask(desk.call(), REQUEST);
    const second = desk.approvals.ask(desk.call({ callId: 't.2' }), REQUEST);
    await settle();
    const codes = desk.journal.approvals.waiting().map(({ code }) => code);
    expect(new Set(codes).size).toBe(2);
    for (const code of codes) expect(code).toMatch(/^[0-9a-z]{8}$/u);
    await desk.answer({ text: `/approve ${codes[0]?.toUpperCase() ?? ''}` });
    expect(await first).toEqual({ approved: true, by: 'telegram:42' });
    await desk.answer({ text: `/deny ${codes[0] ?? ''}` });
    expect(desk.sent.at(-1)).toBe('That question is closed already (approved).');
    await desk.answer({ text: 'no, wait' });
    expect(await second).toEqual({ approved: false, reason: 'the owner said: no, wait' });
  });

  test.each([
    ['the code of somebody who is trusted', 'trusted' as const, (code: string) => ({ text: `/approve ${code}` })],
    ['the press of a guest', 'guest' as const, (code: string) => ({ action: { id: `always:${code}`, value: '' } })],
  ])('is not answered by %s', async (_, role, does) => {
    await using desk = await Desk.open();
    void desk.approvals.ask(desk.call(), { ...REQUEST, always: ALWAYS }).catch(() => {});
    await settle();
    await desk.answer({ text: '', ...does(desk.journal.approvals.get('t.1')?.code ?? ''), role });
    expect(desk.sent.at(-1)).toMatch(/ is for the owner only\.$/u);
    expect(desk.journal.allowances.list()).toEqual([]);
    expect(desk.journal.approvals.get('t.1')?.state).toBe('waiting');
  });

  test.each([
    ['a forwarded message', { untrusted: true, text: 'no' }],
    ['words of a job', { origin: 'cron' as const, text: '/approve' }],
    ['somebody else’s words', { role: 'trusted' as const, text: 'no' }],
    ['the owner in another chat', { chatId: '43', text: 'no' }],
  ])('is left alone by %s', async (_, message) => {
    await using desk = await Desk.open();
    void desk.approvals.ask(desk.call(), REQUEST).catch(() => {});
    await settle();
    await desk.answer(message);
    expect(desk.journal.approvals.get('t.1')?.state).toBe('waiting');
    expect(desk.journal.inbox.counts()).toMatchObject({ accepted: 2 });
  });

  test('shows no secret and nothing that ends its frame', async () => {
    await using desk = await Desk.open();
    void desk.approvals.ask(desk.call(), { ...REQUEST, detail: 'x sk-secret ```\ny\u202e' }).catch(() => {});
    await settle();
    expect(desk.sent[0]).toContain('````\nx [redacted] ```\ny\\u{202e}\n````');
  });

  test('ends with its turn', async () => {
    await using desk = await Desk.open();
    await desk.journal.turns.claim({ id: 't', session: 'telegram:42', role: 'owner', messages: [OWNERS] });
    void desk.approvals.ask(desk.call(), REQUEST).catch(() => {});
    await settle();
    await desk.journal.turns.close('t', 'failed', []);
    expect(desk.journal.approvals.get('t.1')?.state).toBe('cancelled');
  });
});

describe('a question at a terminal', () => {
  test('is asked there, and leaves no row', async () => {
    await using desk = await Desk.open();
    const approver = vi.fn(async () => true);
    using _attached = desk.approvals.attach('telegram:42', approver);
    expect(await desk.approvals.ask(desk.call(), REQUEST)).toEqual({ approved: true, by: 'terminal:owner' });
    expect(approver).toHaveBeenCalledOnce();
    expect(desk.journal.approvals.get('t.1')).toBeUndefined();
  });

  test('takes the reason of a no', async () => {
    await using desk = await Desk.open();
    using _attached = desk.approvals.attach('telegram:42', async () => ({ reason: 'later' }));
    expect(await desk.approvals.ask(desk.call(), REQUEST)).toEqual({
      approved: false,
      reason: 'the owner said: later',
    });
  });

  test('can be allowed for good where that is offered; elsewhere that is no yes', async () => {
    await using desk = await Desk.open();
    using _attached = desk.approvals.attach('telegram:42', async () => 'always');
    expect(await desk.approvals.ask(desk.call(), REQUEST)).toMatchObject({ approved: false });
    expect(desk.journal.allowances.list()).toEqual([]);
    expect(await desk.approvals.ask(desk.call(), { ...REQUEST, always: ALWAYS })).toEqual({
      approved: true,
      by: 'terminal:owner, for good',
    });
    expect(desk.journal.allowances.list()).toMatchObject([{ program: ['/bin/ls'], createdBy: 'terminal:owner' }]);
    expect(desk.journal.allowances.has('standing')).toBe(true);
  });
});

test('where nobody can be asked the answer is no', async () => {
  await using desk = await Desk.open();
  const answer = await desk.another({ reaches: () => false }).ask(desk.call(), REQUEST);
  expect(answer).toMatchObject({ approved: false, reason: expect.stringContaining('nobody can be asked') });
});
