import { describe, expect, test } from 'vitest';
import { causeOf } from '../../../src/core/agent/why/cause.ts';
import type { WhyFacts } from '../../../src/core/agent/why/facts.ts';
import { TURN, ANSWERED, WAITING, refused, done } from '../../support/why-facts.ts';

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
  ['one whose turn has not begun', WAITING, 'It waits for 60 s; its turn has not begun.'],
  [
    'one that waits for a free place',
    { ...WAITING, waitsFor: 'place' },
    'It waits for 60 s: other conversations are being answered first.',
  ],
  ['one that may go on', { ...WAITING, waitsFor: 'more' }, 'It waits for 60 s, because more of it may follow at once.'],
  [
    'one that waits behind another',
    { ...WAITING, busyWith: { ...TURN, state: 'running', outcome: null } },
    'It waits for 60 s: an earlier turn of this conversation is still running.',
  ],
];

describe('the cause, without a turn', () => {
  test.each(CASES)('of %s', (_, facts, cause) => {
    expect(causeOf(facts)).toBe(cause);
  });
});
