import { expect, test } from 'vitest';
import { isRefusal, isUsableSummary } from '../../../src/core/memory/consolidation/usable-summary.ts';
import { endedTurns } from '../../../src/core/memory/consolidation/session-span.ts';
import { assistant, stamp, turnEnd, turnStart, user } from '../../session/tapes.ts';

const turnsOf = (question: string, answer: string): ReturnType<typeof endedTurns> =>
  endedTurns({ entries: stamp([turnStart('t'), user('t', question), assistant('t', answer), turnEnd('t')]) });

const DENTIST = turnsOf('Please help me move the dentist to 14:30 today', 'Sure, I moved it to Friday.');

test.each([
  ['The owner had the dentist moved.'],
  ["Sure! Here's a summary of the conversation: the dentist was moved to 14:30."],
  ['I can confirm that the dentist is on Friday now.'],
  ['The owner asked "can you move my dentist?", which was done.'],
  ['Der Zahnarzt ist jetzt um 14:30 Uhr.'],
])('a text that names something from the conversation is a summary: %s', (text) => {
  expect(isUsableSummary(text, DENTIST, null)).toBe(true);
});

test.each([
  ["I'm sorry, I can't help with that."],
  ['I’m really sorry, but I can’t help you move the dentist.'],
  ['I cannot summarize what was said about the dentist.'],
  ['Happy to help! Please provide the text.'],
  ['Would you like me to move the dentist?'],
  ['This is not something that can be completed today.'],
  ['Lo siento, no puedo ayudarte con eso.'],
  ['Great, the dentist is a good idea!'],
  ['A dentist treats teeth and gums, and a visit twice a year is recommended.'],
  ['Your dentist is on Friday at 14:30.'],
  ['Regular visits of the dentist prevent cavities. Let me know when the next one is.'],
  ['Ein Zahnarzt behandelt Zähne. Sag mir, wann dein Termin am Friday ist.'],
])('a refusal, chat or a question is none: %s', (text) => {
  expect(isUsableSummary(text, DENTIST, null)).toBe(false);
});

test('a note counts as conversation, and scripts without spaces are compared in pairs of characters', () => {
  expect(isUsableSummary('The owner likes cake.', [], 'I like cake')).toBe(true);
  const cat = turnsOf('我的猫叫米尔扎', '好的');
  expect(isUsableSummary('主人的猫名叫米尔扎。', cat, null)).toBe(true);
  expect(isUsableSummary('对不起，我不能谈论米尔扎。', cat, null)).toBe(false);
  expect(isUsableSummary('请提供更多内容。', cat, null)).toBe(false);
});

test('an entry about somebody who is sorry is no refusal', () => {
  expect(isRefusal('The owner is sorry that the dentist cannot help.')).toBe(false);
  expect(isRefusal('  **Sorry**, but no.')).toBe(true);
});
