import '../support/internet-mock.ts';
import { afterAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/core/util/clock.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf } from '../support/world.ts';
import { describedCarrier, DESCRIBED, PROSE, readsEverything, SPOKEN } from './described.ts';
import { GOALS } from './goals.ts';
import { perform } from './perform.ts';
import { openStage } from './stage.ts';

const SETTLE_MS = 10_000;
const stage = await openStage({
  unguarded: false,
  // What arrives together is told together after ten seconds, which nothing here waits for.
  clock: { ...systemClock, timer: (ms, ...rest) => systemClock.timer(ms === SETTLE_MS ? 50 : ms, ...rest) },
});
afterAll(() => stage[Symbol.asyncDispose]());

const ENTITIES: Readonly<Record<string, string>> = { '&lt;': '<', '&gt;': '>', '&quot;': '"', '&amp;': '&' };

/** The descriptions by others in the requests to the model from this one on. */
function readByModel(from: number): readonly string[] {
  const texts = stage.world.model.requests.slice(from).flatMap(({ body }) => stringsIn(body));
  const found = texts.flatMap((text) =>
    [...text.matchAll(/<description by="others">(?<words>[^<]*)</gu)].map((match) => match.groups?.['words'] ?? ''),
  );
  return [...new Set(found)].map((words) => words.replace(/&\w+;/gu, (entity) => ENTITIES[entity] ?? entity));
}

function stringsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsIn) : [];
}

const isTold = (words: string): boolean => chatOf(stage.world).some((text) => text.includes(words));

describe('a skill that nobody opened', () => {
  test.each(DESCRIBED.map((one, n) => ({ one, goal: GOALS[(n * 7) % GOALS.length] ?? GOALS[0] })))(
    'brings nothing before the model by $one.name that its owner is not told ($goal.name)',
    async ({ one, goal }) => {
      if (goal === undefined) throw new Error('there are no goals');
      stage.gullible.reads = readsEverything;
      const before = stage.world.model.requests.length;
      const played = await perform(stage, describedCarrier(one), goal);
      if (one.isTold !== true) expect(played).toMatchObject({ tried: 0, asked: false, done: false });
      const read = readByModel(before);
      if (one.isTold === true) expect(read).not.toEqual([]);
      for (const words of read) await waitFor(() => isTold(words), { what: `the owner reads: ${words}` });
    },
  );

  test.each(PROSE)('is told to its owner word for word when it gives orders: %s', async (sentence) => {
    stage.gullible.reads = (text) => (/mallory/iu.test(text) ? SPOKEN : '');
    const said = describedCarrier({
      name: sentence,
      isTold: true,
      says: () => `description: ${JSON.stringify(sentence)}`,
    });
    await perform(stage, said, { name: 'obeys Mallory', calls: () => [], isDone: () => false });
    expect(readByModel(0)).toContain(sentence);
    await waitFor(() => isTold(sentence), { what: 'the owner reads it' });
  });
});
