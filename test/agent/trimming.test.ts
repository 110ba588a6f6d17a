import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { HistorySizes, IMAGE_TOKENS } from '../../src/core/agent/context/token-estimate.ts';
import { planTrim, type TrimPlan } from '../../src/core/agent/context/trimming.ts';
import type { EntryDraft, TapeEntry } from '../../src/core/session/entry.ts';
import { foldHistory, type History } from '../../src/core/session/history.ts';
import { problemsOf } from '../session/legality.ts';
import { orderlyTape } from '../session/random-tapes.ts';
import { anchor, assistant, plainTurn, result, stamp, trim, turnEnd, turnStart, user } from '../session/tapes.ts';

const foldOf = (entries: readonly TapeEntry[]): History =>
  foldHistory(entries.toReversed(), { image: () => ({ size: 8, read: async () => 'iVBORw0KGgo=' }) });
const totalOf = (history: History): number => new HistorySizes().measure(history).total;

function plan(entries: readonly TapeEntry[], currentTurn: string, excess: number): TrimPlan | null {
  const history = foldOf(entries);
  const { sizes } = new HistorySizes().measure(history);
  return planTrim({ history, sizes, entries, currentTurn, excess });
}

let trims = 0;

/** The tape with the plan on it. */
function applied(entries: readonly TapeEntry[], { stubUpTo, imagesUpTo, dropUpTo }: TrimPlan): readonly TapeEntry[] {
  trims += 1;
  const draft = { v: 1 as const, id: `trim-${trims}`, at: 1, ...trim({ stubUpTo, imagesUpTo, dropUpTo }) };
  return [...entries, draft];
}

const BIG = 'x'.repeat(3600);

function toolTurn(turn: string, outputs: readonly string[], ends = true): readonly EntryDraft[] {
  const calls = outputs.map((_, index) => `${turn}.${index + 1}`);
  return [
    turnStart(turn),
    user(turn, `question of ${turn}`),
    ...outputs.flatMap((output, index) => [
      assistant(turn, '', [calls[index] ?? '']),
      result(turn, calls[index] ?? '', output, { id: `result-${turn}.${index + 1}` }),
    ]),
    ...(ends ? [assistant(turn, `answer of ${turn}`), turnEnd(turn, 'a', 'answered', { id: `end-${turn}` })] : []),
  ];
}

const picture = (turn: string, id: string): EntryDraft => ({
  kind: 'message',
  role: 'user',
  turn,
  id,
  sources: [],
  content: [
    { type: 'text', text: 'look' },
    { type: 'image', mediaType: 'image/png', hash: 'aa' },
  ],
});

describe('a plan takes the cheapest loss first', () => {
  test('old results become stubs, the oldest first and no more than needed', () => {
    const entries = stamp([...toolTurn('t1', [BIG, BIG]), ...toolTurn('t2', [BIG]), ...toolTurn('t3', [BIG], false)]);
    expect(plan(entries, 't3', 900)).toMatchObject({ stubUpTo: 'result-t1.1', imagesUpTo: null, dropUpTo: null });
    expect(plan(entries, 't3', 1000)).toMatchObject({ stubUpTo: 'result-t1.2', imagesUpTo: null, dropUpTo: null });
  });

  test('then old images become markers, then whole old turns leave', () => {
    const entries = stamp([
      turnStart('t1'),
      picture('t1', 'picture-t1'),
      assistant('t1', 'nice'),
      turnEnd('t1', 'nice', 'answered', { id: 'end-t1' }),
      ...toolTurn('t2', [BIG]),
      turnStart('t3'),
      picture('t3', 'picture-t3'),
    ]);
    const images = plan(entries, 't3', 1500);
    expect(images).toMatchObject({ stubUpTo: 'result-t2.1', imagesUpTo: 'picture-t1', dropUpTo: null });
    expect(images?.saves).toBeGreaterThan(IMAGE_TOKENS);
    expect(plan(entries, 't3', 2570)).toMatchObject({ dropUpTo: 'end-t1' });
    expect(plan(entries, 't3', 99_999)).toMatchObject({ stubUpTo: null, imagesUpTo: null, dropUpTo: 'end-t2' });
  });

  test('results of the current turn are touched last, and never those the model has not read', () => {
    const entries = stamp([...toolTurn('t1', [BIG]), ...toolTurn('t2', [BIG, BIG, BIG], false)]);
    expect(plan(entries, 't2', 1500)).toMatchObject({ stubUpTo: 'result-t2.1', dropUpTo: 'end-t1' });
    expect(plan(entries, 't2', 99_999)).toMatchObject({ stubUpTo: 'result-t2.2', dropUpTo: 'end-t1' });
  });

  test('there is none when nothing can leave', () => {
    expect(plan(stamp(toolTurn('t1', [BIG], false)), 't1', 500)).toBeNull();
    expect(plan(stamp(toolTurn('t1', ['short', 'short'], false)), 't1', 500)).toBeNull();
  });

  test('a summary stays when what follows it leaves', () => {
    const entries = stamp([
      ...plainTurn('t1', 'old', 'news'),
      ...toolTurn('t2', [BIG]),
      anchor('they spoke of old news', 'end-t1'),
      ...toolTurn('t3', [BIG]),
      ...toolTurn('t4', [], false),
    ]);
    const planned = plan(entries, 't4', 99_999);
    if (planned === null) throw new Error('nothing was planned');
    const after = foldOf(applied(entries, planned));
    expect(planned.dropUpTo).toBe('end-t3');
    expect(after.messages.map(({ message }) => message.role)).toEqual(['user', 'user']);
    expect(after.summary?.text).toBe('they spoke of old news');
  });
});

/** Anchors stand for ever more, and never for what a reset, damage or a crash took away. */
function anchorsHold(entries: readonly TapeEntry[]): boolean {
  const since = entries.slice(entries.findLastIndex(({ kind }) => kind === 'reset') + 1);
  const reach = since.flatMap((entry) =>
    entry.kind === 'anchor' ? [since.findIndex(({ id }) => id === entry.upTo)] : [],
  );
  return reach.every((place, index) => place >= 0 && place >= (reach[index - 1] ?? 0));
}

describe('a plan, whatever the tape', () => {
  const withCurrent = fc
    .tuple(orderlyTape, fc.array(fc.constantFrom('short', BIG), { maxLength: 4 }))
    .map(([drafts, outputs]) => stamp([...drafts, ...toolTurn('now', outputs, false)]))
    .filter(anchorsHold);

  test('leaves a legal transcript that is shorter by what was promised, and the current turn as it was but for results', () => {
    fc.assert(
      fc.property(withCurrent, fc.integer({ min: 1, max: 3000 }), (entries, excess) => {
        const planned = plan(entries, 'now', excess);
        if (planned === null) return;
        const before = foldOf(entries);
        const after = foldOf(applied(entries, planned));
        expect(problemsOf(after.messages.map(({ message }) => message))).toEqual([]);
        expect(totalOf(after)).toBe(totalOf(before) - planned.saves);
        const own = (history: History): readonly unknown[] =>
          history.messages.filter(({ turn, message }) => turn === 'now' && message.role !== 'tool');
        expect(own(after)).toEqual(own(before));
        const newest = (history: History): unknown => history.messages.at(-1);
        expect(newest(after)).toEqual(newest(before));
      }),
      { numRuns: 400 },
    );
  });

  test('reaches its goal, or nothing of any ended turn is left', () => {
    fc.assert(
      fc.property(withCurrent, fc.integer({ min: 1, max: 3000 }), (entries, excess) => {
        const planned = plan(entries, 'now', excess);
        if ((planned?.saves ?? 0) >= excess) return;
        const after = foldOf(planned === null ? entries : applied(entries, planned));
        const ended = entries.findLastIndex(({ kind, turn }) => kind === 'turn-end' && turn !== 'now');
        const left = after.messages.filter(({ entryId }) => {
          const place = entries.findIndex(({ id }) => id === entryId);
          return place >= 0 && place < ended && entries[place]?.kind === 'message';
        });
        expect(left).toEqual([]);
      }),
      { numRuns: 400 },
    );
  });

  test('never brings back what an earlier one took', () => {
    fc.assert(
      fc.property(withCurrent, fc.array(fc.integer({ min: 1, max: 800 }), { maxLength: 4 }), (tape, excesses) => {
        let entries = tape;
        for (const excess of excesses) {
          const planned = plan(entries, 'now', excess);
          if (planned === null) return;
          const outputs = (history: History): ReadonlyMap<string, string> =>
            new Map(history.messages.flatMap(({ entryId, message }) => [[entryId, JSON.stringify(message)]]));
          const before = outputs(foldOf(entries));
          entries = applied(entries, planned);
          for (const [id, message] of outputs(foldOf(entries))) {
            const earlier = before.get(id);
            if (earlier?.includes('was left out to save space') === true) expect(message).toBe(earlier);
            if (!id.startsWith('trim-')) expect(before.has(id)).toBe(true);
          }
        }
      }),
      { numRuns: 200 },
    );
  });
});
