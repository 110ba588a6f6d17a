import { describe, expect, test } from 'vitest';
import { RACES, runRace } from '../support/path-races.ts';

describe('what is swapped 20,000 times lets nothing out and nothing in', () => {
  test.each(Object.entries(RACES))('while %s', async (name, race) => {
    const figures = await runRace(race, { swaps: 20_000, tries: 5_000 });
    process.stdout.write(`${name}: ${JSON.stringify(figures)}\n`);
    expect(figures.swaps).toBeGreaterThanOrEqual(20_000);
    expect(figures.refused).toBeGreaterThan(0);
  });
});
