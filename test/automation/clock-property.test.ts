import { expect, test } from 'vitest';
import { history } from './clock-property.ts';

test('however the clock is put: each due time is run, skipped or late, never twice, and every reminder is told', async () => {
  // In the last one it is put forward while the turn of a job runs that then fails.
  for (const seed of [1, 2, 3, 4, 5, 6, 204]) {
    expect({ seed, ...(await history(seed)) }).toMatchObject({
      seed,
      twice: [],
      forgotten: [],
      untold: [],
      rested: [],
    });
  }
});
