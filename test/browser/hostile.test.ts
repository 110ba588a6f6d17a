import { afterAll, describe, expect, test } from 'vitest';
import { noBrowser } from './browser-world.ts';
import { HOSTILE_PAGES } from './hostile-pages.ts';
import { hostileStage } from './hostile-stage.ts';

const stage = noBrowser === undefined ? await hostileStage() : undefined;
afterAll(async () => await stage?.[Symbol.asyncDispose]());

describe.skipIf(stage === undefined)('Of thirty hostile pages, with a model that does what it reads', () => {
  if (stage === undefined) return;

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
