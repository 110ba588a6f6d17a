import { describe, expect, test } from 'vitest';
import { costOfReload, reloadUnderLoad } from '../support/plugin-reload-suite.ts';

describe('a plugin that is changed and loaded anew', { timeout: 300_000 }, () => {
  test('50 times while messages are answered: each is answered once, by one version alone, and no old one goes on', () =>
    reloadUnderLoad(50));

  test('costs the memory of its modules, and nothing that it opened is kept', async () => {
    expect(await costOfReload(100)).toBeLessThan(150_000);
  });
});
