import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { KNOWN_FAULTS } from './known-faults.ts';

const TESTS = globSync('test/**/*.ts', { exclude: ['test/known-faults.ts'] }).map((file) => readFileSync(file, 'utf8'));

test('every known fault has a test that fails because of it', () => {
  const untested = Object.keys(KNOWN_FAULTS).filter((id) => !TESTS.some((text) => text.includes(`'${id}'`)));
  expect(untested).toEqual([]);
});

test('every known fault names the issue that will fix it, and why it waits', () => {
  const vague = Object.entries(KNOWN_FAULTS).filter(
    ([, { fixedBy, why }]) => !/^\d\d[a-c]?$/u.test(fixedBy) || !/^.{20,160}\.$/u.test(why),
  );
  expect(vague).toEqual([]);
});
