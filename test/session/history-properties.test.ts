import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { TapeEntry } from '../../src/core/session/entry.ts';
import { foldHistory, type History } from '../../src/core/session/history.ts';
import { problemsOf } from './legality.ts';
import { orderlyTape, wildTape } from './random-tapes.ts';
import { stamp } from './tapes.ts';

const foldOf = (entries: readonly TapeEntry[]): History => foldHistory(entries.toReversed());
const problems = (history: History): readonly string[] => problemsOf(history.messages.map((item) => item.message));

test('every tape, cut after any entry, folds into a legal transcript', () => {
  fc.assert(
    fc.property(fc.oneof(orderlyTape, wildTape), fc.nat(60), (drafts, length) => {
      const entries = stamp(drafts).slice(0, length);
      expect(problems(foldOf(entries))).toEqual([]);
    }),
    { numRuns: 1500 },
  );
});

test('every tape with lines missing folds into a legal transcript', () => {
  fc.assert(
    fc.property(orderlyTape, fc.infiniteStream(fc.boolean()), (drafts, kept) => {
      const entries = stamp(drafts).filter(() => kept.next().value);
      expect(problems(foldOf(entries))).toEqual([]);
    }),
    { numRuns: 500 },
  );
});

test('messages of ended turns stay as they are unless something is retracted, trimmed, anchored or reset', () => {
  const changing = new Set(['retract', 'trim', 'anchor', 'reset']);
  fc.assert(
    fc.property(orderlyTape, fc.nat(60), (drafts, at) => {
      const entries = stamp(drafts);
      const before = entries.slice(0, at);
      const next = entries.findIndex((entry, index) => index >= at && changing.has(entry.kind));
      const after = entries.slice(0, next < 0 ? entries.length : next);
      const open = before.findLast((entry) => entry.turn !== null)?.turn;
      const isOver = before.some((entry) => entry.kind === 'turn-end' && entry.turn === open);
      const stable = foldOf(before).messages.filter((item) => isOver || item.turn !== open);
      expect(foldOf(after).messages.slice(0, stable.length)).toEqual(stable);
    }),
    { numRuns: 1000 },
  );
});

test('a call that has its result keeps it while the turn goes on', () => {
  fc.assert(
    fc.property(orderlyTape, fc.nat(60), (drafts, at) => {
      const entries = stamp(drafts);
      const before = foldOf(entries.slice(0, at)).messages;
      const after = foldOf(entries.slice(0, at + 1)).messages;
      const outputs = (messages: History['messages']): Map<string, string> =>
        new Map(messages.flatMap(({ message }) => (message.role === 'tool' ? [[message.callId, message.output]] : [])));
      const later = outputs(after);
      if (entries[at]?.kind === 'trim') return;
      for (const [callId, output] of outputs(before)) {
        if (output.startsWith('result of')) expect(later.get(callId) ?? output).toBe(output);
      }
    }),
    { numRuns: 500 },
  );
});
