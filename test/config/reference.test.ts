import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { configSchema } from '../../src/config/schema.ts';
import { referenceLine, referenceRows } from './reference.ts';

const ROWS = referenceRows(configSchema);
const PAGE = readFileSync(new URL('../../docs/configuration.md', import.meta.url), 'utf8');

test('every key has a line of documentation', () => {
  expect(ROWS.length).toBeGreaterThan(120);
  expect(ROWS.filter(({ doc }) => doc === '').map(({ key }) => key)).toEqual([]);
});

test('docs/configuration.md holds every key with its default and its meaning', () => {
  const lines = new Set(PAGE.split('\n'));
  expect(ROWS.map(referenceLine).filter((line) => !lines.has(line))).toEqual([]);
});

test('docs/configuration.md holds no key that does not exist', () => {
  const known = new Set(ROWS.map(({ key }) => key));
  const listed = [...PAGE.matchAll(/^\| `(?<key>[\w.$<>]+)` \|(?=[^|]*\|[^|]*\|$)/gmu)].map(
    (match) => match.groups?.['key'] ?? '',
  );
  expect(listed.filter((key) => !known.has(key) && !/^[A-Z_]+$/u.test(key))).toEqual([]);
});
