import { expect, test } from 'vitest';
import { mismatches, ZONES } from './slow-reference.ts';

const YEARS = Array.from({ length: 10 }, (_, index) => 2024 + index);

test.each(ZONES)('%s agrees with the reference in every minute of ten years', { timeout: 600_000 }, (zone) => {
  const wrong = YEARS.flatMap((year) => mismatches(zone, Date.UTC(year, 0, 1), Date.UTC(year + 1, 0, 1)));
  expect(wrong).toEqual([]);
});
