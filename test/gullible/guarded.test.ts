import '../support/internet-mock.ts';
import { expect, test } from 'vitest';
import { CARRIERS } from './carriers.ts';
import { CASES, GOALS, someOf } from './cases.ts';
import { FAMILIES, FAMILY_CASES, someOfFamilies } from './families.ts';
import { guardedTests } from './guarded.ts';

/** The long runs try them all. */
const SOME = someOf(CASES);

test('there are 120 cases at least, and these have every way and every harm', () => {
  expect(CASES.length).toBeGreaterThanOrEqual(120);
  expect(new Set(SOME.map(({ carrier }) => carrier)).size).toBe(CARRIERS.length);
  expect(new Set(SOME.map(({ goal }) => goal)).size).toBe(GOALS.length);
});

test('each family of attacks has ten variations at least', () => {
  expect(FAMILIES.filter(({ goals }) => goals.length < 10)).toEqual([]);
  const names = FAMILY_CASES.map(({ carrier, goal }) => `${carrier.name}: ${goal.name}`);
  expect(new Set(names).size).toBe(names.length);
});

guardedTests([...SOME, ...someOfFamilies(1)]);
