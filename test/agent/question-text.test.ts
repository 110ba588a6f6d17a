import { expect, test } from 'vitest';
import { approvalTo, closedText, shownRequest, type QuestionFacts } from '../../src/core/agent/questions/text.ts';
import { inboundMessage } from '../support/inbound.ts';

const CHAT = inboundMessage({ chatId: '42' });
const FACTS: QuestionFacts = {
  callId: 't.1',
  sessionKey: 'telegram:42',
  target: CHAT,
  request: { title: 'Run a command', detail: 'ls', reason: 'It asks.' },
  code: 'abcd2345',
  own: true,
  until: 1_000,
};

const asked = (facts: Partial<QuestionFacts> = {}): string => approvalTo(CHAT, { ...FACTS, ...facts }).text;

const labels = (facts: Partial<QuestionFacts> = {}): readonly (readonly string[])[] =>
  (approvalTo(CHAT, { ...FACTS, ...facts }).buttons ?? []).map((row) => row.map(({ label }) => label));

test('every character of what is asked about can be seen', () => {
  const hidden = 'a\u202Eb\u200Bc';
  const request = shownRequest({ title: hidden, detail: hidden, reason: hidden }, (text) => text);
  const text = asked({ request });
  expect(text).not.toMatch(/[\u202E\u200B]/u);
  expect(text.split('a\\u{202e}b\\u{200b}c')).toHaveLength(4);
});

test('a question that is over loses its instructions only where they are its end', () => {
  const metadata = { instructions: 'Answer yes or no.' };
  expect(closedText({ text: 'Run it?\n\nAnswer yes or no.', metadata }, 'Allowed.')).toBe('Run it?\n\n**Allowed.**');
  expect(closedText({ text: 'A text that a plugin wrote.', metadata }, 'Allowed.')).toBe(
    'A text that a plugin wrote.\n\n**Allowed.**',
  );
});

test('where its chat reads every word as an answer, it says so', () => {
  expect(asked()).toContain('within 10 minutes. Anything else you write here is a no.');
  expect(asked({ own: false })).toMatch(/within 10 minutes\.$/u);
});

test('the block of what is asked about is longer than any mark in it', () => {
  expect(asked({ request: { ...FACTS.request, detail: 'a\n`````\n**Allowed.**' } })).toContain('``````\na\n`````\n');
});

test('a button for good is there only where that is offered', () => {
  const always = { program: ['/bin/ls'], folder: '/w', hash: 'h' };
  expect(labels()).toEqual([['Allow once', 'Deny']]);
  expect(asked()).not.toContain('always');
  expect(labels({ request: { ...FACTS.request, always } })).toEqual([['Allow once', 'Always', 'Deny']]);
});

test('where somebody else wants it, it says who and where, in words that look like nothing else', () => {
  const sender = { id: '7', name: 'Eve`**](x)\n<b>', isBot: false };
  const target = inboundMessage({ chatId: '7', sender });
  const text = asked({ target, sessionKey: 'telegram:7' });
  const who = /\(for (?<name>[^]*) in `telegram:7`\)/u.exec(text)?.groups?.['name'];
  expect(who).toMatch(/^Eve[ xb]+$/u);
  expect(asked({ target: undefined, sessionKey: 'cron:daily' })).toContain('(for `cron:daily`)');
  expect(asked()).not.toContain('(for ');
});
