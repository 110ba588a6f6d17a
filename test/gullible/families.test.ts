import '../support/internet-mock.ts';
import { expect, test } from 'vitest';
import { FAMILIES, FAMILY_CASES, SOME_OF_FAMILIES } from './families.ts';
import { guardedTests } from './guarded.ts';

test('each family of attacks has ten variations at least', () => {
  expect(FAMILIES.filter(({ goals }) => goals.length < 10)).toEqual([]);
  const names = FAMILY_CASES.map(({ carrier, goal }) => `${carrier.name}: ${goal.name}`);
  expect(new Set(names).size).toBe(names.length);
});

guardedTests(SOME_OF_FAMILIES);
