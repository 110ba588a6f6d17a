import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { startOfDay } from '../../src/core/util/time-zone.ts';

test.each([
  ['Europe/Vienna', '2026-07-01T10:00:00Z', '2026-06-30T22:00:00.000Z'],
  ['Europe/Vienna', '2026-03-29T12:00:00Z', '2026-03-28T23:00:00.000Z'],
  ['Europe/Vienna', '2026-10-25T22:30:00Z', '2026-10-24T22:00:00.000Z'],
  ['America/Los_Angeles', '2026-01-01T07:59:59Z', '2025-12-31T08:00:00.000Z'],
  ['America/Los_Angeles', '2026-01-01T08:00:00Z', '2026-01-01T08:00:00.000Z'],
  ['Asia/Kolkata', '2026-05-05T00:00:00Z', '2026-05-04T18:30:00.000Z'],
  ['UTC', '2026-05-05T23:59:59Z', '2026-05-05T00:00:00.000Z'],
])('in %s the day of %s began at %s', (timezone, now, began) => {
  expect(new Date(startOfDay(Date.parse(now), timezone)).toISOString()).toBe(began);
});

test('a day is the same from its first to its last millisecond, and not a millisecond longer', () => {
  const zone = fc.constantFrom('Europe/Vienna', 'America/New_York', 'Asia/Kathmandu', 'Pacific/Auckland', 'UTC');
  const time = fc.integer({ min: Date.UTC(2025, 0, 1), max: Date.UTC(2028, 0, 1) });
  fc.assert(
    fc.property(zone, time, (timezone, now) => {
      const began = startOfDay(now, timezone);
      expect(began).toBeLessThanOrEqual(now);
      expect(startOfDay(began, timezone)).toBe(began);
      expect(startOfDay(began - 1, timezone)).toBeLessThan(began);
    }),
    { numRuns: 100 },
  );
});

test('without a time zone the machine’s own counts', () => {
  const now = Date.UTC(2026, 4, 5, 12);
  expect(startOfDay(now, null)).toBe(new Date(now).setHours(0, 0, 0, 0));
});
