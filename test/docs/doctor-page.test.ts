import { expect, test } from 'vitest';
import { SUBJECTS } from '../../src/core/doctor/check.ts';
import { checksOf } from '../../src/doctor/checks.ts';
import { PROGRAM } from '../support/extensions.ts';
import { expectParts, table } from './generated-part.ts';

const CHECKS = await checksOf(PROGRAM, null);

test('docs/doctor.md lists every check (-u rewrites it)', async () => {
  const rows = CHECKS.map(({ id, subject, about, live }) => [subject, id, about, live === true ? 'live' : '']);
  await expectParts('docs/doctor.md', { checks: table(['subject', 'id', 'is all well?', ''], rows) });
});

test('each check has an id of its own, and a subject that is shown', () => {
  const ids = CHECKS.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(CHECKS.filter(({ subject }) => !SUBJECTS.includes(subject))).toEqual([]);
});
