import { describe, expect, test } from 'vitest';
import { costOfReload, reloadUnderLoad } from '../support/plugin-reload-suite.ts';

/** Fifty times are in `plugin-reload.long.test.ts`. */
describe('a plugin that is changed and loaded anew', { timeout: 120_000 }, () => {
  test('10 times while messages are answered: each is answered once, by one version alone, and no old one goes on', () =>
    reloadUnderLoad(10));

  test('costs the memory of its modules, and nothing that it opened is kept', async () => {
    // Its code has 27 kB, what it opens 1.6 MB, and the turn 20 kB.
    expect(await costOfReload(10)).toBeLessThan(250_000);
  });
});
