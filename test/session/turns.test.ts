import { expect, test } from 'vitest';
import type { EntryDraft } from '../../src/core/session/entry.ts';
import { turnOf, type TapeTurn } from '../../src/core/session/turns.ts';
import { asks, gives, note, says } from '../agent/turn-entries.ts';
import { intent, stamp, turnEnd, turnStart } from './tapes.ts';

const called = (after = 'E0'): EntryDraft => ({
  kind: 'note',
  turn: 'T',
  text: 'model call',
  call: { after, layers: [], tools: 'a'.repeat(64), toolChoice: 'auto', maxOutputTokens: 1, attempts: [] },
});
const asked = (...callIds: readonly string[]): EntryDraft => says('', { calls: callIds.map((callId) => ({ callId })) });

const fold = (...drafts: readonly EntryDraft[]): TapeTurn => turnOf(stamp(drafts));
const kinds = ({ steps }: TapeTurn): readonly string[] => steps.map(({ kind }) => kind);

test('a turn has its messages, model calls and results in order, with its start and end', () => {
  const turn = fold(
    turnStart('T'),
    asks(),
    called(),
    asked('T.1', 'T.2'),
    intent('T', 'T.1'),
    gives('T.2', 'two'),
    gives('T.1', 'one'),
    called(),
    says('Done.'),
    turnEnd('T'),
  );
  expect(kinds(turn)).toEqual(['message', 'model', 'tool', 'tool', 'model']);
  expect([turn.start?.turn, turn.end?.turn]).toEqual(['T', 'T']);
  expect(turn.toolCalls.map(({ asked: { callId }, result }) => [callId, result?.output])).toEqual([
    ['T.1', 'one'],
    ['T.2', 'two'],
  ]);
  expect(turn.toolCalls.map(({ intent: begun }) => begun?.callId)).toEqual(['T.1', undefined]);
  expect(turn.results.map(({ entry, answers }) => [entry.output, answers])).toEqual([
    ['two', 1],
    ['one', 1],
  ]);
});

test('a model call that failed has no answer, and stands where it ended', () => {
  const turn = fold(asks(), called(), note('Try again.'), called(), says('Done.'), called());
  expect(kinds(turn)).toEqual(['message', 'model', 'message', 'model', 'model']);
  expect(turn.modelCalls.map(({ answer }) => answer !== undefined)).toEqual([false, true, false]);
});

test('an answer without a record is a model call too, and a call that was cut off has no result', () => {
  const turn = fold(asks(), asked('T.1'), intent('T', 'T.1'));
  expect(turn.modelCalls).toMatchObject([{ note: undefined }]);
  expect(turn.toolCalls).toMatchObject([{ intent: { callId: 'T.1' }, result: undefined }]);
  expect([turn.start, turn.end]).toEqual([undefined, undefined]);
});
