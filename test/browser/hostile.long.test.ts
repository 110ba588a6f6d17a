import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeWith } from '../support/test-with.ts';
import { NEEDED } from './browser-world.ts';
import { HOSTILE_PAGES } from './hostile-pages.ts';
import { hostileStage } from './hostile-stage.ts';

describeWith(...NEEDED)('Of thirty hostile pages, with a model that does what it reads', () => {
  let stage: Awaited<ReturnType<typeof hostileStage>>;
  beforeAll(async () => {
    stage = await hostileStage();
  });
  afterAll(() => stage[Symbol.asyncDispose]());

  test('there are thirty', () => {
    expect(HOSTILE_PAGES).toHaveLength(30);
    expect(new Set(HOSTILE_PAGES.map(({ name }) => name)).size).toBe(30);
  });

  test.each(HOSTILE_PAGES)('none does harm: one $name', async (page) => {
    expect(await stage.perform(page, 'silent')).toEqual({ harm: [], reached: true });
  });
});
