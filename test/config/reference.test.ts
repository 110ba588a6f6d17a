import { expect, test } from 'vitest';
import { PROGRAM } from '../support/extensions.ts';
import { markedEffect } from '../../src/core/config/schema/values.ts';
import { referenceRows } from './reference.ts';

test('every section says when a change takes effect', () => {
  const marked = Object.entries(PROGRAM.schema.shape).map(([key, schema]) => [key, markedEffect(schema)]);
  expect(marked.filter(([, effect]) => effect === undefined)).toEqual([]);
});

// That docs/configuration.md holds these rows is tested in test/docs/reference-pages.test.ts.

test('every key has a line of documentation', () => {
  const rows = referenceRows(PROGRAM.schema);
  expect(rows.length).toBeGreaterThan(120);
  expect(rows.filter(({ doc }) => doc === '').map(({ key }) => key)).toEqual([]);
});
