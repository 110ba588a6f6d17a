import { describe, expect, test } from 'vitest';
import type { EntryDraft } from '../../../src/core/session/entry.ts';
import {
  endBeforeNewest,
  endedTurns,
  exchangesOf,
  firstPart,
  planChunk,
  possibleRelief,
  type TurnSpan,
  unconsolidated,
} from '../../../src/core/memory/consolidation/session-span.ts';
import { plainTurn, retract, stamp, turnStart, user } from '../../session/tapes.ts';

const turns = (...drafts: readonly (readonly EntryDraft[])[]): readonly TurnSpan[] =>
  endedTurns({ entries: stamp(drafts.flat()) });

const six = turns(...['a', 'b', 'c', 'd', 'e', 'f'].map((id) => plainTurn(id, `ask ${id}`, `say ${id}`)));

function plan(question: Partial<Parameters<typeof planChunk>[0]>): ReturnType<typeof planChunk> {
  const sizes = { sizeOf: () => 10, copySizeOf: () => 10 };
  return planChunk({ turns: six, consolidated: new Set(), excess: 20, most: 1000, ...sizes, ...question });
}

describe('what is archived', () => {
  test('is the oldest that has to leave, and no more', () => {
    expect(plan({})).toEqual({ upTo: 'end-b', relief: 20 });
    expect(plan({ excess: 21 })?.upTo).toBe('end-c');
  });

  test('is never the newest two exchanges', () => {
    expect(plan({ excess: 1000 })).toEqual({ upTo: 'end-d', relief: 40 });
    expect(plan({ turns: six.slice(-2) })).toBeNull();
    expect(endBeforeNewest(six)).toBe('end-d');
    expect(endBeforeNewest(six.slice(-2))).toBeNull();
  });

  test('fits into one question, but is at least one exchange', () => {
    expect(plan({ excess: 1000, most: 25 })?.upTo).toBe('end-b');
    expect(plan({ excess: 1000, most: 5 })?.upTo).toBe('end-a');
    expect(firstPart(six, { copySizeOf: () => 10, most: 25 }).map(({ id }) => id)).toEqual(['a', 'b']);
    expect(firstPart(six, { copySizeOf: () => 10, most: 5 }).map(({ id }) => id)).toEqual(['a']);
  });

  test('counts no copies of what is archived already', () => {
    const consolidated = new Set(['end-b']);
    expect(plan({ consolidated, excess: 1000, most: 20 })?.upTo).toBe('end-d');
    expect(unconsolidated(six, consolidated).map(({ id }) => id)).toEqual(['c', 'd', 'e', 'f']);
  });

  test('is weighed before a model is asked', () => {
    const question = { turns: six, consolidated: new Set<string>(), sizeOf: () => 10, copySizeOf: () => 10, most: 1 };
    expect(possibleRelief({ ...question, excess: 1000 })).toBe(40);
    expect(possibleRelief({ ...question, excess: 15 })).toBe(15);
  });
});

describe('the turns of a stretch', () => {
  test('are those that ended and were not taken back', () => {
    const open = [turnStart('c'), user('c', 'running')];
    expect(turns(plainTurn('a', 'x', 'y'), plainTurn('b', 'x', 'y'), open, [retract('a')]).map(({ id }) => id)).toEqual(
      ['b'],
    );
  });

  test('belong to the exchange before when nobody asked for them', () => {
    const reminder = (id: string): readonly EntryDraft[] =>
      plainTurn(id, 'x', 'y').map((draft) => (draft.kind === 'turn-start' ? { ...draft, origin: 'cron' } : draft));
    const all = turns(
      reminder('r1'),
      reminder('r2'),
      plainTurn('a', 'x', 'y'),
      reminder('r3'),
      plainTurn('b', 'x', 'y'),
    );
    expect(exchangesOf(all).map((exchange) => exchange.turns.map(({ id }) => id))).toEqual([
      ['r1'],
      ['r2'],
      ['a', 'r3'],
      ['b'],
    ]);
  });
});
