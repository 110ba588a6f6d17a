import { expect, test } from 'vitest';
import { summaryOf } from '../../src/memory/consolidate.ts';

test('a summary grows to its limit and then loses its oldest paragraphs', () => {
  let summary: string | null = null;
  for (let n = 0; n < 40; n += 1) summary = summaryOf(summary, [`Part ${n}. ${'x'.repeat(400)}`]);
  expect(summary?.length).toBeLessThanOrEqual(8000);
  expect(summary).toMatch(/^\[Older parts .*HISTORY\.md/u);
  expect(summary).toContain('Part 39.');
  expect(summary).not.toContain('Part 3.');
  expect(summary?.match(/Older parts/gu)).toHaveLength(1);
});
