import { expect, test } from 'vitest';
import { expectNothingLost, type LongTalk } from './memory-planted.ts';
import { choiceRefusing, failing, summarising } from './memory-world.ts';

const DOUBLES: Readonly<Record<string, Pick<LongTalk, 'double' | 'isBroken' | 'remembers'>>> = {
  'sums up': { double: summarising, remembers: true },
  'refuses the choice of a tool': { double: choiceRefusing },
  fails: { double: failing, isBroken: true },
};

// Of the full size, and with more ways to fail, in memory-facts.long.test.ts.
test.each(Object.entries(DOUBLES))(
  'where a model that %s archives a talk of 60 turns, none of 42 facts is lost, and memory_search finds each',
  { timeout: 180_000 },
  async (_name, double) => {
    const size = { turns: 60, facts: 42, length: 6, window: 16_000 };
    const { anchors } = await expectNothingLost({ ...double, ...size });
    expect(anchors).toBeGreaterThan(0);
  },
);
