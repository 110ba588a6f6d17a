import { expect, test } from 'vitest';
import { history } from './clock-property.ts';

test('however the clock is put: each due time is run, skipped or late, never twice, and every reminder is told', async () => {
  for (let seed = 1; seed <= 6; seed += 1) {
    expect({ seed, ...(await history(seed)) }).toMatchObject({
      seed,
      twice: [],
      forgotten: [],
      untold: [],
      rested: [],
    });
  }
});
