import { describe, expect, test } from 'vitest';
import { expectNothingLost, type LongTalk } from './memory-planted.ts';
import type { StepHandler } from '../support/model-script.ts';
import { choiceRefusing, failing, summarising } from './memory-world.ts';

interface Double extends Pick<LongTalk, 'double' | 'isBroken' | 'remembers'> {
  /** How often it has to be asked for one summary. @default 1 */
  readonly asks?: number;
  /** Its failures, with what is tried again, take longer than the talk; so may be that nothing is archived yet. */
  readonly outlasts?: boolean;
}

/** Every second time it is asked, something goes wrong in the middle of the answer. */
const wavering: StepHandler = async (request) => {
  const step = await summarising(request);
  return request.index % 2 === 0 && typeof step === 'object' ? { ...step, fault: 'reset-mid' } : step;
};

const DOUBLES: Readonly<Record<string, Double>> = {
  'sums up': { double: summarising, remembers: true },
  'refuses the choice of a tool': { double: choiceRefusing },
  'takes a while': {
    double: async (request) => {
      const step = await summarising(request);
      return typeof step === 'object' ? { ...step, delayMs: 700 } : step;
    },
    remembers: true,
  },
  'breaks off every second time': { double: wavering, remembers: true, asks: 2 },
  'is out of order': { double: failing, isBroken: true },
  'answers with 500': {
    double: () => ({ error: { status: 500, message: 'internal error' } }),
    isBroken: true,
    outlasts: true,
  },
  'breaks off each answer': {
    double: () => ({ text: 'They talked of', fault: 'reset-mid' }),
    isBroken: true,
    outlasts: true,
  },
  'says nothing': { double: () => '', isBroken: true },
};
const SIZE = { turns: 200, facts: 45, length: 3 };

describe.each(['openai', 'anthropic'] as const)('by %s', (dialect) => {
  test.each(Object.entries(DOUBLES))(
    'where a model that %s archives a talk of 200 turns, none of 45 facts is lost, and memory_search finds each',
    async (name, double) => {
      const figures = await expectNothingLost({ ...SIZE, ...double, dialect, window: 16_000 });
      console.info(`${dialect}, ${name}:`, figures);
      if (double.outlasts !== true) expect(figures.anchors).toBeGreaterThan(0);
      expect(figures.anchors).toBeLessThanOrEqual(SIZE.turns / 20);
      if (double.isBroken !== true)
        expect(figures.asides).toBeLessThanOrEqual((double.asks ?? 1) * (2 + SIZE.turns / 20));
    },
  );
});

test.each([8_000, 12_000])('in a window of %i tokens nothing is lost either', async (window) => {
  const figures = await expectNothingLost({ ...SIZE, double: summarising, remembers: true, window });
  console.info(`${window} tokens:`, figures);
  expect(figures.anchors).toBeGreaterThan(0);
});
