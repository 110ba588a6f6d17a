import { describe, expect, test } from 'vitest';
import { causeOf } from '../../../src/agent/why/cause.ts';
import type { WhyFacts } from '../../../src/agent/why/facts.ts';
import type { MessageLife, QuestionLife, ReplyLife, TurnLife } from '../../../src/journal/lives.ts';
import type { TapeEntry } from '../../../src/session/entry.ts';

const NOW = 1_800_000_000_000;
const MESSAGE: MessageLife = {
  id: 'm1',
  session: 'telegram:42',
  channel: 'telegram',
  sender: '42',
  text: 'hi',
  origin: 'user',
  state: 'done',
  reason: null,
  turn: 't1',
  receivedAt: NOW - 60_000,
};
const TURN: TurnLife = {
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
const QUESTION: QuestionLife = {
  kind: 'approval',
  state: 'waiting',
  title: 'Run a command',
  detail: '`make all`',
  answeredBy: null,
  askedAt: NOW - 55_000,
  updatedAt: NOW - 50_000,
};
const ANSWERED: WhyFacts = {
  message: MESSAGE,
  others: [],
  turn: TURN,
  busyWith: undefined,
  entries: [],
  promptChange: null,
  replies: [REPLY],
  questions: [],
  cost: null,
  chatType: 'direct',
  channel: { name: 'telegram', state: 'running' },
  now: NOW,
};
const WAITING: WhyFacts = {
  ...ANSWERED,
  message: { ...MESSAGE, state: 'accepted', turn: null },
  turn: undefined,
  replies: [],
};
const gone = { v: 1, id: 'e1', at: NOW - 52_000, turn: 't1' } as const;
const end = (facts: Partial<Extract<TapeEntry, { kind: 'turn-end' }>>): TapeEntry => ({
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
const failed = (kind: string, reason: string, status?: number): TapeEntry => ({
  ...gone,
  kind: 'note',
  text: 'model call',
  call: {
    after: '',
    layers: [],
    tools: 'a'.repeat(64),
    toolChoice: 'auto',
    maxOutputTokens: 1,
    attempts: [
      {
        provider: 'openai',
        model: 'first',
        body: null,
        bytes: 0,
        reasoning: 'off',
        failed: { kind, reason, ...(status === undefined ? {} : { status }) },
      },
    ],
  },
});
const trim: TapeEntry = { ...gone, kind: 'trim', stubUpTo: null, imagesUpTo: null, dropUpTo: 'e0' };
const refused = (reason: string | null): WhyFacts => ({
  ...WAITING,
  message: { ...MESSAGE, state: 'refused', reason, turn: null },
});
const done = (reason: string): WhyFacts => ({ ...WAITING, message: { ...MESSAGE, reason, turn: null } });
const replied = (reply: Partial<ReplyLife>, more: Partial<WhyFacts> = {}): WhyFacts => ({
  ...ANSWERED,
  replies: [{ ...REPLY, ...reply }],
  ...more,
});
const turned = (turn: Partial<TurnLife>, more: Partial<WhyFacts> = {}): WhyFacts => ({
  ...ANSWERED,
  turn: { ...TURN, ...turn },
  ...more,
});

const CASES: readonly (readonly [what: string, facts: WhyFacts, cause: string])[] = [
  ['an answer', ANSWERED, 'It was answered.'],
  [
    'a message in a group that never came',
    { ...WAITING, message: undefined, chatType: 'group' },
    'I never received it. In groups I take only what mentions me or replies to me, from people who are allowed. The channel telegram is running now.',
  ],
  [
    'a message that never came while the channel is down',
    { ...WAITING, message: undefined, channel: { name: 'slack', state: 'failed', detail: 'the token was refused' } },
    'I never received it. The channel slack is failed (the token was refused) now.',
  ],
  ['too many in the chat', refused('chat-full'), 'I did not take it: too many messages were waiting in this chat.'],
  [
    'too many on the channel',
    refused('channel-full'),
    'I did not take it: too many messages were waiting on this channel.',
  ],
  ['what a /new dropped', refused('interrupted'), 'It was dropped before its turn came: a later command began anew.'],
  ['what a /stop dropped', refused('stopped'), 'It was dropped before its turn came: /stop was sent.'],
  ['what the owner dropped', refused('dropped by the owner'), 'The owner dropped it, so it got no answer.'],
  ['what is told in words', refused('the disk was full'), 'It was dropped before its turn came: the disk was full.'],
  ['a /stop', done('stop'), 'It was the request to stop, and it was carried out when it came.'],
  ['an answer to a question', done('answer'), 'It was taken as the answer to a question.'],
  ['an edit', done('edit'), 'It changed a message that had not been answered yet, so that one has the answer.'],
  ['what was withdrawn', done('withdrawn'), 'It was withdrawn before its turn came.'],
  ['one that waits', WAITING, 'It waits for its turn for 60 s: other conversations are being answered first.'],
  [
    'one that waits behind another',
    { ...WAITING, busyWith: { ...TURN, state: 'running', outcome: null } },
    'It waits for 60 s: an earlier turn of this conversation is still running.',
  ],
  [
    'one that is worked on',
    turned(
      { state: 'running', outcome: null },
      { entries: [{ ...gone, kind: 'intent', callId: 'c', name: 'exec', class: 'effect' }] },
    ),
    'I am still working on it, for 60 s: exec runs.',
  ],
  ['one that is being stopped', turned({ state: 'stopping', outcome: null }), 'It is being stopped.'],
  [
    'an open question',
    turned({ state: 'running', outcome: null }, { questions: [QUESTION] }),
    'It waits for an answer to the question about “make all”.',
  ],
  [
    'a no',
    { ...ANSWERED, questions: [{ ...QUESTION, state: 'denied', answeredBy: 'telegram:42' }] },
    '“make all” was not done: telegram:42 said no.',
  ],
  [
    'a question that nobody answered',
    { ...ANSWERED, questions: [{ ...QUESTION, state: 'expired' }] },
    '“make all” was not done: nobody answered the question in time.',
  ],
  [
    'what was refused by a rule',
    { ...ANSWERED, entries: [end({ unfinished: 'Not done: writing `/etc/x` was refused.' })] },
    'Not done: writing /etc/x was refused.',
  ],
  ['what was stopped', turned({ outcome: 'stopped' }), 'It was stopped.'],
  ['a choice to be silent', turned({ outcome: 'silent' }), 'I chose to say nothing.'],
  ['a command', turned({ outcome: 'command' }), 'It was a command, and its reply is all that it does.'],
  [
    'a turn that always ended the process',
    turned({ state: 'dead', outcome: 'failed' }),
    'I gave up on it: the process ended each time that I worked on it.',
  ],
  [
    'a budget that is used up',
    turned({ outcome: 'failed' }, { entries: [end({ outcome: 'failed', answer: 'Today’s budget is used up.' })] }),
    'I could not answer it. Today’s budget is used up.',
  ],
  [
    'a failure of which only the call is left',
    turned({ outcome: 'failed' }, { entries: [failed('rate-limit', 'too many requests', 429)] }),
    'I could not answer it. openai/first failed (rate-limit 429): too many requests.',
  ],
  [
    'an answer of another model',
    { ...ANSWERED, entries: [failed('overloaded', 'try later', 529), end({})] },
    'openai/second answered, because openai/first failed (overloaded 529): try later.',
  ],
  [
    'an answer after a crash',
    turned({ resumed: 1 }),
    'The process ended while I worked on it, and the next one went on with it.',
  ],
  [
    'an answer that was sent twice',
    replied({ isRepeated: true }),
    'The answer was sent again, because the first copy may not have arrived.',
  ],
  [
    'an answer that came late',
    turned({ startedAt: NOW - 20_000 }),
    'It waited 40 s for an earlier turn of this conversation.',
  ],
  [
    'one that joined',
    turned({ startedAt: NOW - 70_000 }, { others: [{ ...MESSAGE, id: 'm0' }] }),
    'It came while I was already working, and joined that turn. 1 other message had the same answer.',
  ],
  [
    'a conversation that was too long',
    { ...ANSWERED, entries: [trim, end({})] },
    'The conversation had become too long for the model, so its oldest part was left out.',
  ],
  [
    'an answer that the platform refused',
    replied({ state: 'dead', reason: 'the bot was blocked by the user' }),
    'The answer was written but did not arrive: the bot was blocked by the user.',
  ],
  [
    'an answer that was too old to be sent',
    replied({ state: 'expired', reason: 'no connection for a day' }),
    'The answer was written but could not be sent in time: no connection for a day.',
  ],
  [
    'an answer that waits',
    replied(
      { state: 'pending', attempts: 3, reason: 'Too Many Requests' },
      { channel: { name: 'telegram', state: 'reconnecting' } },
    ),
    'The answer is written and waits to be sent, after 3 attempts: Too Many Requests. The channel telegram is reconnecting now.',
  ],
  ['what is not kept any more', { ...ANSWERED, turn: undefined }, 'Of its turn nothing is kept any more.'],
];

describe('the cause', () => {
  test.each(CASES)('of %s', (_, facts, cause) => {
    expect(causeOf(facts)).toBe(cause);
  });
});
