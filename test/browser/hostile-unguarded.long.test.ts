import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeWith } from '../support/test-with.ts';
import { NEEDED } from './browser-world.ts';
import { HOSTILE_PAGES } from './hostile-pages.ts';
import { hostileStage } from './hostile-stage.ts';

describeWith(...NEEDED)('Each of thirty hostile pages does harm where a guard is missing', () => {
  let stage: Awaited<ReturnType<typeof hostileStage>>;
  beforeAll(async () => {
    stage = await hostileStage();
  });
  afterAll(() => stage[Symbol.asyncDispose]());

  const by = (without: string): typeof HOSTILE_PAGES => HOSTILE_PAGES.filter((page) => page.without === without);

  test.each(by('yes'))('if the owner says yes: one $name', async (page) => {
    expect((await stage.perform(page, 'yes')).harm).not.toEqual([]);
  });

  test.each(by('browser'))('in a browser without guards: one $name', async (page) => {
    expect(await stage.unguarded(page)).not.toEqual([]);
  });

  test.each(by('opened'))('if its host is opened: one $name', async (page) => {
    await using opened = await hostileStage({ opens: ['turning.example.org:INSIDE', '127.0.0.1:INSIDE'] });
    expect((await opened.perform(page, 'silent')).harm).not.toEqual([]);
  });
});
