import { describe, expect, test } from 'vitest';
import { causeOf } from '../../../src/core/agent/why/cause.ts';
import type { WhyFacts } from '../../../src/core/agent/why/facts.ts';
import {
  NOW,
  MESSAGE,
  TURN,
  QUESTION,
  ANSWERED,
  WAITING,
  gone,
  end,
  failed,
  again,
  passedOver,
  FAILED_TASK,
  trim,
  replied,
  turned,
} from '../../support/why-facts.ts';

const CASES: readonly (readonly [what: string, facts: WhyFacts, cause: string])[] = [
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
  [
    'a job, in a row that does not say it in words yet',
    { ...turned({ outcome: 'stopped' }), message: { ...MESSAGE, origin: 'cron', metadata: { job: 'news' } } },
    'The job news began it. It was stopped.',
  ],
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
    'I could not answer it. openai/first failed: openai allowed no more requests for the moment (429).',
  ],
  [
    'an answer of another model',
    { ...ANSWERED, entries: [failed('overloaded', 'try later', 529), end({})] },
    'openai/second answered, because openai/first failed: openai was overloaded or down (529).',
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
    turned({ startedAt: NOW - 20_000 }, { before: { ...TURN, id: 't0', updatedAt: NOW - 20_000 } }),
    'It waited 40 s for an earlier turn of this conversation.',
  ],
  [
    'an answer that came late for a reason that is not known',
    turned({ startedAt: NOW - 20_000 }, { before: { ...TURN, id: 't0', updatedAt: NOW - 70_000 } }),
    'It waited 40 s before its turn began.',
  ],
  [
    'an answer that came late, because the process began anew',
    turned({ startedAt: NOW - 20_000 }, { upSince: NOW - 30_000 }),
    'It waited 40 s, because I was stopped before its turn began, and started again.',
  ],
  [
    'a message that the platform brought late',
    { ...ANSWERED, message: { ...MESSAGE, metadata: { sentAt: NOW - 660_000 } } },
    'It reached me 10 min after it was sent, because until then I was not running or had no connection to telegram.',
  ],
  [
    'a message of a platform with another clock',
    { ...ANSWERED, message: { ...MESSAGE, metadata: { sentAt: NOW - 660_000 } }, clockLag: 598_000 },
    'It was answered.',
  ],
  [
    'a message that came while nothing ran',
    {
      ...ANSWERED,
      message: { ...MESSAGE, metadata: { sentAt: NOW - 660_000 } },
      channelThen: { state: 'stopped', detail: null, since: 0 },
    },
    'It reached me 10 min after it was sent, because I was not running.',
  ],
  [
    'a message that came while the channel had no connection',
    {
      ...ANSWERED,
      message: { ...MESSAGE, metadata: { sentAt: NOW - 660_000 } },
      channelThen: { state: 'reconnecting', detail: 'no route to the host', since: 0 },
    },
    'It reached me 10 min after it was sent, because the channel telegram was reconnecting (no route to the host).',
  ],
  [
    'a message that the platform itself brought late',
    {
      ...ANSWERED,
      message: { ...MESSAGE, metadata: { sentAt: NOW - 660_000 } },
      channelThen: { state: 'running', detail: null, since: 0 },
    },
    'It reached me 10 min after it was sent, although the channel telegram was running.',
  ],
  [
    'an answer that a full disk kept waiting',
    turned(
      { startedAt: NOW - 20_000, updatedAt: NOW - 10_000 },
      { outages: [{ since: NOW - 80_000, until: NOW - 25_000 }] },
    ),
    'It waited 35 s, because the disk could not be written.',
  ],
  [
    'an answer that had to be asked for again',
    { ...ANSWERED, entries: [again('rate-limit', 2_000), again('rate-limit', 4_000), end({ model: 'openai/first' })] },
    'openai/first had to be asked again 2 times, with 6 s of waiting, because openai allowed no more requests for the moment.',
  ],
  [
    'an answer of another model, because the first is left out for a while',
    { ...ANSWERED, entries: [passedOver, end({})] },
    'openai/second answered, because openai/first had failed shortly before and was left out.',
  ],
  [
    'a yes that came late',
    { ...ANSWERED, questions: [{ ...QUESTION, state: 'approved', updatedAt: NOW + 245_000 }] },
    'It waited 5 min for an answer to the question about “make all”.',
  ],
  [
    'a question of the model that nobody answered',
    { ...ANSWERED, questions: [{ ...QUESTION, kind: 'ask', state: 'expired', title: 'Tea?', detail: '' }] },
    'Nobody answered my question “Tea?” in time.',
  ],
  [
    'an answer that could not be sent for a while',
    replied({ updatedAt: NOW + 550_000 }),
    'The answer was written, but could only be sent 10 min later.',
  ],
  [
    'several delays, the longest first',
    turned(
      { startedAt: NOW - 40_000, resumed: 1 },
      {
        before: { ...TURN, id: 't0', updatedAt: NOW - 40_000 },
        entries: [again('overloaded', 30_000), end({ model: 'openai/first' })],
      },
    ),
    'openai/first had to be asked again after 30 s, because openai was overloaded or down. It waited 20 s for an earlier turn of this conversation. The process ended while I worked on it, and the next one went on with it.',
  ],
  [
    'what was not done, before what made it late',
    turned(
      { startedAt: NOW - 20_000 },
      { entries: [end({ unfinished: 'Not done: writing `/etc/x` was refused.' })], tasks: [FAILED_TASK] },
    ),
    'Not done: writing /etc/x was refused. The subagent “counting” that it started failed: openai refused the key. It waited 40 s before its turn began.',
  ],
  [
    'a repetition',
    turned({ startedAt: NOW - 10_000 }, { retried: 'openai refused the API key.' }),
    'It was answered again by /retry; before that, openai refused the API key.',
  ],
  [
    'what /stop ended',
    turned({ outcome: 'stopped' }, { cameDuring: [{ ...MESSAGE, id: 'm2', text: 'stop', reason: 'stop' }] }),
    'It was stopped: /stop was sent.',
  ],
  [
    'what /new ended',
    turned({ outcome: 'stopped' }, { cameDuring: [{ ...MESSAGE, id: 'm2', text: '/new' }] }),
    'It was stopped: /new was sent.',
  ],
  [
    'what a newer message ended',
    turned({ outcome: 'stopped' }, { cameDuring: [{ ...MESSAGE, id: 'm2', text: 'no, wait' }] }),
    'It was stopped, because a newer message came.',
  ],
  [
    'what a plugin refused',
    turned(
      { outcome: 'command' },
      { message: { ...MESSAGE, reason: 'The plugin quiet did not let it through: Hush.' } },
    ),
    'The plugin quiet did not let it through: Hush.',
  ],
  [
    'a message that is not kept any more',
    { ...WAITING, message: undefined, wasReceived: true },
    'I received it, but I keep no record of it any more: records are deleted after 90 days.',
  ],
  [
    'a notice',
    { ...WAITING, message: undefined, sent: { kind: 'notice', text: 'The disk is full.', from: null } },
    'It is a notice of mine, and no answer to a message.',
  ],
  [
    'a message of the assistant that is not kept any more',
    { ...WAITING, message: undefined, sent: { kind: 'notice', text: '', from: null } },
    'It is a message of mine, but what it was about is not kept any more.',
  ],
  [
    'an edit that waits',
    { ...ANSWERED, edits: [{ ...MESSAGE, id: 'm2', turn: null, state: 'accepted' }] },
    'It was edited after I had read it, and the new words wait for their turn.',
  ],
  [
    'a conversation that was summed up',
    { ...ANSWERED, wasSummarized: true },
    'Before it, the older part of the conversation was replaced by a summary, so I no longer had it word for word.',
  ],
  [
    'one that is being prepared',
    turned({ state: 'running', outcome: null }),
    'I am still working on it, for 60 s: it is being prepared.',
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
