import { expect, test } from 'vitest';
import { configSchema } from '../../src/config/schema.ts';
import { referenceRows } from './reference.ts';

// That docs/configuration.md holds these rows is tested in test/docs/reference-pages.test.ts.

test('every key has a line of documentation', () => {
  const rows = referenceRows(configSchema);
  expect(rows.length).toBeGreaterThan(120);
  expect(rows.filter(({ doc }) => doc === '').map(({ key }) => key)).toEqual([]);
});
