import '../support/internet-mock.ts';
import { expect, test } from 'vitest';
import { CARRIERS } from './carriers.ts';
import { CASES, GOALS, someOf } from './cases.ts';
import { guardedTests } from './guarded.ts';

/** The long run tries them all. */
const SOME = someOf(CASES);

test('there are 120 cases at least, and these have every way and every harm', () => {
  expect(CASES.length).toBeGreaterThanOrEqual(120);
  expect(new Set(SOME.map(({ carrier }) => carrier)).size).toBe(CARRIERS.length);
  expect(new Set(SOME.map(({ goal }) => goal)).size).toBe(GOALS.length);
});

guardedTests(SOME);
