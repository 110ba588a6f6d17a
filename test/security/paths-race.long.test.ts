import { describe, expect, test } from 'vitest';
import { RACES, runRace } from '../support/path-races.ts';

describe('what is swapped 100,000 times lets nothing out and nothing in', () => {
  test.each(Object.entries(RACES))('while %s', async (name, race) => {
    const figures = await runRace(race, { swaps: 100_000, tries: 2_000 });
    process.stdout.write(`${name}: ${JSON.stringify(figures)}\n`);
    expect(figures.swaps).toBeGreaterThanOrEqual(100_000);
    expect(figures.passed).toBeGreaterThan(0);
    if (race.isPassedOver !== true) expect(figures.refused).toBeGreaterThan(0);
  });
});
