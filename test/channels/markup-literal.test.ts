import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { platforms } from '../support/markup-platforms.ts';
import { inkOf } from '../support/visible-lines.ts';

const LIMITS: Readonly<Record<string, number>> = { Telegram: 9_000, Discord: 2_000, Slack: 12_000, CommonMark: 2_000 };
const marked = fc.stringMatching(/^[ a-z*_~`#>+\-[\]()!|<&@\\\n.0-9]{1,80}$/u);

describe.each(platforms)('a text as it is, on $name', ({ name, markup, read }) => {
  test('shows every character of it and no markup', () => {
    fc.assert(
      fc.property(marked, (text) => {
        const parts = markup.literal(text);
        expect(parts.length > 0).toBe(text.trim() !== '');
        expect(inkOf(parts.map((part) => read(part).visible).join('\n'))).toBe(inkOf(text));
      }),
      { numRuns: 500 },
    );
  });

  test('is cut into parts that each fit with their escapes', () => {
    for (const text of ['*'.repeat(20_000), '<&>'.repeat(7_000), 'word '.repeat(6_000)]) {
      const parts = markup.literal(text);
      expect(parts.length).toBeGreaterThan(1);
      expect(Math.max(...parts.map((part) => part.length))).toBeLessThanOrEqual(LIMITS[name] ?? 0);
      expect(inkOf(parts.map((part) => read(part).visible).join('\n'))).toBe(inkOf(text));
    }
  });
});
