import { expect, test } from 'vitest';
import { simulate } from './simulation.ts';

const WHOLE = { twice: [], unreported: [], idle: [] };

test('12 days with stops and sleeps: whatever is due runs once when it is up, and each miss is written down', async () => {
  const report = await simulate({ days: 12, seed: 7, back: false });
  expect(report).toMatchObject(WHOLE);
  expect(report.ran).toBeGreaterThan(200);
  expect(report.missed).toBeGreaterThan(100);
});

test('12 days with a clock that is also put back: nothing runs twice, and nothing is forgotten', async () => {
  const report = await simulate({ days: 12, seed: 11, back: true });
  expect(report).toMatchObject(WHOLE);
  expect(report.jumps).toBeGreaterThan(3);
});
