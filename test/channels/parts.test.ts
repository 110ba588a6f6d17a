import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { plainText, toHtml } from '../../src/core/channels/markup/html.ts';
import { toSpans } from '../../src/core/channels/markup/markdown.ts';
import { toParts } from '../../src/core/channels/markup/parts.ts';
import { isInvisible, spanText, type Span } from '../../src/core/channels/markup/spans.ts';
import { isTelegramLink } from '../../src/extensions/telegram/markup.ts';
import { anyText } from '../support/markdown-documents.ts';
import { readTelegram } from '../support/telegram-part.ts';

/** What a text leaves out between parts that follow each other in it; undefined when they do not. */
function between(text: string, parts: readonly string[]): readonly string[] | undefined {
  const seams: string[] = [];
  let at = 0;
  for (const part of parts) {
    const next = text.indexOf(part, at);
    if (next < 0) return undefined;
    seams.push(text.slice(at, next));
    at = next + part.length;
  }
  return [...seams, text.slice(at)];
}

test('parts of any length show the document unit by unit; only what nobody can see is left out at the cuts', () => {
  fc.assert(
    fc.property(anyText, fc.integer({ min: 4, max: 80 }), (markdown, limit) => {
      // Heads of tables, which are repeated, have a test of their own.
      const spans = toSpans(markdown, isTelegramLink).map((span): Span => ({ ...span, head: 0 }));
      const parts = toParts(spans, { limit, render: toHtml, load: () => 0 });
      const readings = parts.map((part) => readTelegram(part));
      expect(readings.flatMap(({ problems }) => problems)).toEqual([]);
      const shown = readings.map(({ visible }) => visible);
      expect(shown.filter((part) => part.length > limit)).toEqual([]);
      expect(shown).toEqual(parts.map((part) => plainText(part)));
      expect(between(spanText(spans), shown)?.filter((seam) => !isInvisible(seam))).toEqual([]);
    }),
    { numRuns: 1_000, seed: 20_260_105 },
  );
});

test('a part that comes out too long is cut again, and its neighbours are tried longer', () => {
  const text = `${'a '.repeat(40)}${'& '.repeat(40)}${'a '.repeat(40)}`;
  const rules = { limit: 40, render: toHtml, load: (part: string): number => part.length / 40 };
  const parts = toParts([{ text }], rules);
  expect(Math.max(...parts.map(({ length }) => length))).toBeLessThanOrEqual(40);
  expect(parts.map((part) => plainText(part)).join(' ')).toBe(text.trim());
  expect(parts.at(-2)?.length).toBeGreaterThan(30);
});

test('what cannot be made to fit is sent as small as it gets', () => {
  const parts = toParts([{ text: 'abcd' }], { limit: 4, render: (spans) => spanText(spans), load: () => 9 });
  expect(parts).toEqual(['ab', 'cd']);
});
