import { expect, test } from 'vitest';
import { mayJoin, unifiedSession, UNIFIED_SESSION } from '../../src/core/agent/joining.ts';
import type { InboundDraft, InboundMessage } from '../../src/core/bus/messages.ts';
import { inboundDraft, inboundMessage } from '../support/inbound.ts';

const joins = (message: Partial<InboundMessage>, first: Partial<InboundMessage> = {}): boolean =>
  mayJoin(inboundMessage(first), inboundMessage(message));

test('a person’s words join a turn of the same chat', () => {
  expect(joins({})).toBe(true);
});

test.each<[string, Partial<InboundMessage>]>([
  ['another chat', { chatId: '2' }],
  ['another thread', { threadId: '9' }],
  ['another channel', { channel: 'terminal' }],
  ['another bot', { account: 'other' }],
  ['another model', { metadata: { model: 'a/b' } }],
  ['a run with fewer tools', { metadata: { run: { tools: ['exec'] } } }],
  ['a run with less time', { metadata: { run: { timeoutMs: 1000 } } }],
  ['a job', { origin: 'cron' }],
  ['a webhook', { origin: 'hook' }],
  ['a command', { text: '/new' }],
])('what comes from or for %s does not', (_, message) => {
  expect(joins(message)).toBe(false);
});

test('words of the same run join it, words of none do not', () => {
  const metadata = { run: { tools: ['exec'], retries: 0 } };
  expect(joins({ metadata }, { metadata })).toBe(true);
  expect(joins({}, { metadata })).toBe(false);
});

test.each([
  ['owner', 'owner', true],
  ['owner', 'trusted', false],
  ['owner', 'guest', false],
  ['trusted', 'owner', true],
  ['trusted', 'guest', false],
  ['guest', 'owner', true],
] as const)('words join the turn of a %s from a %s: %s', (first, role, expected) => {
  expect(joins({ role }, { role: first })).toBe(expected);
});

test('in a session that is one for all chats the chat does not matter, the role does', () => {
  const first = { sessionKey: UNIFIED_SESSION };
  expect(joins({ chatId: '2' }, first)).toBe(true);
  expect(joins({ chatId: '2', role: 'guest' }, first)).toBe(false);
});

test.each<[string, Partial<InboundDraft>, string | undefined]>([
  ['the owner’s words in a direct chat', {}, UNIFIED_SESSION],
  ['a trusted person’s', { role: 'trusted' }, undefined],
  ['the owner’s in a group', { chatType: 'group' }, undefined],
  ['a program’s', { origin: 'api' }, undefined],
])('the one session of the owner’s chats takes %s: %o', (_, draft, session) => {
  expect(unifiedSession(inboundDraft({ role: 'owner', chatType: 'direct', origin: 'user', ...draft }))).toBe(session);
});
