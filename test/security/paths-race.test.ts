import { describe, expect, test } from 'vitest';
import { RACES, runRace } from '../support/path-races.ts';

describe('what is swapped 2,000 times lets nothing out and nothing in', () => {
  test.each(Object.entries(RACES))('while %s', async (_, race) => {
    const { swaps, passed, refused } = await runRace(race, { swaps: 2_000, tries: 60 });
    expect(swaps).toBeGreaterThanOrEqual(2_000);
    if (race.isPassedOver !== true) expect(refused).toBeGreaterThan(0);
    expect(passed).toBeGreaterThan(0);
  });
});
