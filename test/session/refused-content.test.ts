import { expect, test } from 'vitest';
import type { EntryDraft, TapeEntry } from '../../src/core/session/entry.ts';
import { foldHistory } from '../../src/core/session/history.ts';

const asEntries = (drafts: readonly EntryDraft[]): TapeEntry[] =>
  drafts.map((draft, at) => ({ v: 1, id: `e${at}`, at, ...draft }));

const text = (value: string): { type: 'text'; text: string } => ({ type: 'text', text: value });
const user: EntryDraft = {
  kind: 'message',
  role: 'user',
  turn: 't',
  sources: ['m'],
  skills: ['helper'],
  content: [text('<context>'), text('words'), text('PDF WORDS'), text('SKILL STEPS')],
};
const leaves = (parts: { entry: string; what: 'documents' | 'skills' | 'message' }[], turn = 't'): EntryDraft => ({
  kind: 'retract',
  turn,
  turns: [],
  refused: { model: 'p/m', parts, layers: [] },
});

const contentOf = (...drafts: EntryDraft[]): string =>
  JSON.stringify(foldHistory(asEntries(drafts).reverse()).messages.map(({ message }) => message));

test('a refused document leaves its message, with a word in its place', () => {
  const sent = contentOf(user, leaves([{ entry: 'e0', what: 'documents' }]));
  expect(sent).toContain('words');
  expect(sent).toContain('SKILL STEPS');
  expect(sent).toContain('A document, left out');
  expect(sent).not.toContain('PDF WORDS');
});

test('the newest retract of a turn replaces the earlier ones of that turn alone', () => {
  const sent = contentOf(user, leaves([{ entry: 'e0', what: 'documents' }]), leaves([{ entry: 'e0', what: 'skills' }]));
  expect(sent).toContain('PDF WORDS');
  expect(sent).not.toContain('SKILL STEPS');
  const both = contentOf(
    user,
    leaves([{ entry: 'e0', what: 'documents' }]),
    leaves([{ entry: 'e0', what: 'skills' }], 'later'),
  );
  expect(both).not.toMatch(/PDF WORDS|SKILL STEPS/u);
});

test('a refused message stays in its place, so that the transcript is legal', () => {
  expect(contentOf(user, leaves([{ entry: 'e0', what: 'message' }]))).toBe(
    '[{"role":"user","content":[{"type":"text","text":"[This message was left out, because the provider refused its content.]"}]}]',
  );
});
