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

  const by = (without: string): typeof HOSTILE_PAGES => HOSTILE_PAGES.filter((page) => page.without === without);

  test.each(by('yes'))('each would, if the owner said yes: one $name', async (page) => {
    expect((await stage.perform(page, 'yes')).harm).not.toEqual([]);
  });

  test.each(by('browser'))('each would, in a browser without guards: one $name', async (page) => {
    expect(await stage.unguarded(page)).not.toEqual([]);
  });

  test.each(by('opened'))('each would, if its host were opened: one $name', async (page) => {
    await using opened = await hostileStage({ opens: ['turning.example.org:INSIDE', '127.0.0.1:INSIDE'] });
    expect((await opened.perform(page, 'silent')).harm).not.toEqual([]);
  });
});
