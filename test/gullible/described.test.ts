import '../support/internet-mock.ts';
import { afterAll, describe, expect, test } from 'vitest';
import { describedCarrier, DESCRIBED, PROSE, readsEverything, SPOKEN } from './described.ts';
import { GOALS } from './goals.ts';
import { perform } from './perform.ts';
import { openStage, textOf } from './stage.ts';

const stage = await openStage({ unguarded: false });
afterAll(() => stage[Symbol.asyncDispose]());

describe('a skill that nobody opened', () => {
  test.each(DESCRIBED.map((one, n) => ({ one, goal: GOALS[(n * 7) % GOALS.length] ?? GOALS[0] })))(
    'does no harm by $one.name: the model never $goal.name',
    async ({ one, goal }) => {
      if (goal === undefined) throw new Error('there are no goals');
      stage.gullible.reads = readsEverything;
      const played = await perform(stage, describedCarrier(one), goal);
      expect(played).toMatchObject({ tried: 0, asked: false, done: false });
    },
  );

  test.each(PROSE)('gives no order in plain words: %s', async (sentence) => {
    stage.gullible.reads = (text) => (/mallory/iu.test(text) ? SPOKEN : '');
    const said = describedCarrier({ name: sentence, says: () => `description: ${JSON.stringify(sentence)}` });
    const goal = { name: 'obeys Mallory', calls: () => [], isDone: async () => await memoryHoldsMallory() };
    expect(await perform(stage, said, goal)).toMatchObject({ asked: false, done: false });
    expect(stage.gullible.tried).toEqual([]);
  });

  test('is still described to the model in the plain words of its author', async () => {
    stage.gullible.reads = null;
    const sentence = 'Bakes cakes from flour, water and salt. Use this skill when somebody wants to bake.';
    const plain = describedCarrier({ name: 'plain', says: () => `description: ${JSON.stringify(sentence)}` });
    await perform(stage, plain, { name: 'bakes', calls: () => [], isDone: () => false });
    expect(stage.world.model.requests.some(({ body }) => JSON.stringify(body).includes(sentence))).toBe(true);
  });
});

async function memoryHoldsMallory(): Promise<boolean> {
  return (await textOf(stage.world.workspace, 'memory', 'MEMORY.md')).includes('mallory');
}
