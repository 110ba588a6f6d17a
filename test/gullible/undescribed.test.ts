import '../support/internet-mock.ts';
import './no-guards.ts';
import { afterAll, expect, test, vi } from 'vitest';
import { describedCarrier, DESCRIBED, readsEverything } from './described.ts';
import { GOALS } from './goals.ts';
import { perform } from './perform.ts';
import { openStage } from './stage.ts';

vi.mock('../../src/core/security/text/invisible.ts', async (original) => ({
  ...(await original<object>()),
  withoutInvisible: (text: string) => ({ text, removed: 0 }),
}));
vi.mock('../../src/core/skills/pins.ts', async (original) => ({
  ...(await original<object>()),
  readPins: () => ({ pins: { get: () => 'agreed', has: () => true }, warnings: [] }),
  pinOf: () => 'agreed',
}));

const stage = await openStage({ unguarded: true });
afterAll(() => stage[Symbol.asyncDispose]());

const MEMORY = GOALS.filter(({ name }) => name === 'changes the memory');
/** What is read as single words, for commands or as programs, holds no order even without the guard. */
const WORDS = new Set(['its name', 'programs that it needs', 'variables that it needs', 'the name of its folder']);
const OPEN = DESCRIBED.filter(({ name }) => !WORDS.has(name));

test.each(OPEN.flatMap((one) => MEMORY.map((goal) => ({ one, goal }))))(
  'without its guard a skill that nobody opened does harm by $one.name',
  async ({ one, goal }) => {
    stage.gullible.reads = readsEverything;
    expect(await perform(stage, describedCarrier(one), goal)).toMatchObject({ done: true });
  },
);
