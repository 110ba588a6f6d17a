import '../support/internet-mock.ts';
import { expect, test } from 'vitest';
import { CARRIERS } from './carriers.ts';
import { CASES, someOf } from './cases.ts';
import { GOALS } from './goals.ts';
import { guardedTests } from './guarded.ts';

const SOME = someOf(CASES, 3);

test('enough is tried: every way and every harm, in 120 cases at least', () => {
  expect(SOME.length).toBeGreaterThanOrEqual(120);
  expect(new Set(SOME.map(({ carrier }) => carrier)).size).toBe(CARRIERS.length);
  expect(new Set(SOME.map(({ goal }) => goal)).size).toBe(GOALS.length);
});

guardedTests(SOME);
