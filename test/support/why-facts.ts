import type { WhyFacts } from '../../src/core/agent/why/facts.ts';
import type { MessageLife, QuestionLife, ReplyLife, TurnLife } from '../../src/core/journal/lives.ts';
import type { TapeEntry } from '../../src/core/session/entry.ts';

/** What the stores know of a message that was answered, and what can be different of it. */

export const NOW = 1_800_000_000_000;
export const MESSAGE: MessageLife = {
  id: 'm1',
  session: 'telegram:42',
  channel: 'telegram',
  account: '1',
  chat: '42',
  externalId: 'm:7',
  sender: '42',
  text: 'hi',
  origin: 'user',
  state: 'done',
  reason: null,
  turn: 't1',
  receivedAt: NOW - 60_000,
  metadata: {},
};
export const TURN: TurnLife = {
  id: 't1',
  session: 'telegram:42',
  state: 'done',
  outcome: 'answered',
  resumed: 0,
  startedAt: NOW - 60_000,
  updatedAt: NOW - 50_000,
};
const REPLY: ReplyLife = {
  id: 't1:0',
  kind: 'answer',
  state: 'delivered',
  reason: null,
  attempts: 1,
  updatedAt: NOW - 50_000,
  isRepeated: false,
};
export const QUESTION: QuestionLife = {
  kind: 'approval',
  state: 'waiting',
  title: 'Run a command',
  detail: '`make all`',
  answeredBy: null,
  askedAt: NOW - 55_000,
  updatedAt: NOW - 50_000,
};
export const ANSWERED: WhyFacts = {
  message: MESSAGE,
  others: [],
  edits: [],
  wasReceived: false,
  passedOver: undefined,
  unknownAt: undefined,
  channelThen: undefined,
  sent: null,
  turn: TURN,
  busyWith: undefined,
  before: undefined,
  retried: null,
  cameDuring: [],
  wasSummarized: false,
  tasks: [],
  entries: [],
  promptChange: null,
  replies: [REPLY],
  questions: [],
  cost: null,
  chatType: 'direct',
  channel: { name: 'telegram', state: 'running' },
  waitsFor: null,
  clockLag: 0,
  outages: [],
  upSince: NOW - 3_600_000,
  now: NOW,
};
export const WAITING: WhyFacts = {
  ...ANSWERED,
  message: { ...MESSAGE, state: 'accepted', turn: null },
  turn: undefined,
  replies: [],
};
export const gone = { v: 1, id: 'e1', at: NOW - 52_000, turn: 't1' } as const;
export const end = (facts: Partial<Extract<TapeEntry, { kind: 'turn-end' }>>): TapeEntry => ({
  ...gone,
  kind: 'turn-end',
  outcome: 'answered',
  answer: 'Yes.',
  target: { channel: 'telegram', chatId: '42' },
  usage: { input: 1, cached: 0, cacheWrite: 0, output: 1, reasoning: 0 },
  costUsd: null,
  model: 'openai/second',
  iterations: 1,
  ...facts,
});
const noted = (call: Partial<NonNullable<Extract<TapeEntry, { kind: 'note' }>['call']>>): TapeEntry => ({
  ...gone,
  kind: 'note',
  text: 'model call',
  call: { after: '', layers: [], tools: 'a'.repeat(64), toolChoice: 'auto', maxOutputTokens: 1, attempts: [], ...call },
});
const attempt = { provider: 'openai', model: 'first', body: null, bytes: 0, reasoning: 'off' };
export const failed = (kind: string, reason: string, status?: number): TapeEntry =>
  noted({ attempts: [{ ...attempt, failed: { kind, reason, ...(status === undefined ? {} : { status }) } }] });
/** A call that failed once, waited and was answered. */
export const again = (kind: string, waitMs: number): TapeEntry =>
  noted({ attempts: [{ ...attempt, failed: { kind, reason: 'trying again', waitMs } }, attempt] });
export const passedOver = noted({ passedOver: 'openai/first', attempts: [{ ...attempt, model: 'second' }] });
export const FAILED_TASK = { label: 'counting', outcome: 'failed', answer: 'openai refused the key.' };
export const trim: TapeEntry = { ...gone, kind: 'trim', stubUpTo: null, imagesUpTo: null, dropUpTo: 'e0' };
export const refused = (reason: string | null): WhyFacts => ({
  ...WAITING,
  message: { ...MESSAGE, state: 'refused', reason, turn: null },
});
export const done = (reason: string): WhyFacts => ({ ...WAITING, message: { ...MESSAGE, reason, turn: null } });
export const replied = (reply: Partial<ReplyLife>, more: Partial<WhyFacts> = {}): WhyFacts => ({
  ...ANSWERED,
  replies: [{ ...REPLY, ...reply }],
  ...more,
});
export const turned = (turn: Partial<TurnLife>, more: Partial<WhyFacts> = {}): WhyFacts => ({
  ...ANSWERED,
  turn: { ...TURN, ...turn },
  ...more,
});
