import { join } from 'node:path';
import { Approvals, type ApprovalsPorts, type AskedCall } from '../../src/agent/approvals.ts';
import type { InboundMessage } from '../../src/bus/messages.ts';
import type { AnswerTaken } from '../../src/journal/approval-answers.ts';
import { openJournal, type Journal } from '../../src/journal/journal.ts';
import { createIds } from '../../src/util/ids.ts';
import { systemRandom } from '../../src/util/random.ts';
import { inboundMessage } from './inbound.ts';
import { tempFolder } from './temp.ts';
import { settle, VirtualClock } from './virtual-clock.ts';

/** The owner's direct chat. */
const OWNERS_CHAT = inboundMessage({ chatId: '42', sender: { id: '42', isBot: false } });

/** Questions over a real journal, in a time that only passes when it is told to. */
export interface ApprovalDesk extends AsyncDisposable {
  readonly clock: VirtualClock;
  readonly journal: Journal;
  /** What every message that answered, or tried to, came to. */
  readonly taken: readonly AnswerTaken[];
  /** As a process has it; each call is a new process. */
  start(ports?: Partial<ApprovalsPorts>): Approvals;
  call(overrides?: Partial<AskedCall>): AskedCall;
  /** A message comes in. */
  says(overrides: Partial<InboundMessage>): Promise<void>;
  /** What was put into the outbox: chat and text. */
  sent(): readonly (readonly [chat: string, text: string])[];
}

export async function openApprovalDesk(): Promise<ApprovalDesk> {
  const folder = await tempFolder();
  const clock = new VirtualClock();
  const path = join(folder.path, 'state.db');
  const journal = await openJournal({ path, backupPath: null, clock, newId: createIds(clock, systemRandom) });
  const stop = new AbortController();
  const taken: AnswerTaken[] = [];
  let messages = 0;
  journal.inbox.onAnswer((one) => void taken.push(one));
  await journal.inbox.accept([OWNERS_CHAT]);
  return {
    clock,
    journal,
    taken,
    start: (ports = {}) => {
      const approvals = new Approvals({
        ledger: journal.approvals,
        allowances: journal.allowances,
        clock,
        random: systemRandom,
        mask: (text) => text,
        messages: () => 1,
        attach: async () => null,
        closed: () => {},
        reaches: (channel) => channel === 'telegram',
        ...ports,
      });
      journal.inbox.onAnswer(({ answered }) => {
        if (answered !== null) approvals.answered(answered);
      });
      return approvals;
    },
    call: (overrides = {}) => ({
      sessionKey: 'telegram:42',
      callId: 't.1',
      turnId: 't',
      signal: stop.signal,
      target: OWNERS_CHAT,
      ...overrides,
    }),
    says: async (overrides) => {
      const id = `said-${(messages += 1)}`;
      await journal.inbox.accept([inboundMessage({ ...OWNERS_CHAT, externalId: `m:${id}`, ...overrides, id })]);
      await settle();
    },
    sent: () => journal.outbox.page(0, 100).map(({ message: { chatId, text } }) => [chatId, text]),
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      journal[Symbol.dispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}
