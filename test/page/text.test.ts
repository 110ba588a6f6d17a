import { array, assert, constantFrom, property } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { growBlocks, NO_BLOCKS, type Blocks } from '../../src/page/text/blocks.ts';
import { safeLink, shown } from '../../src/page/text/shown.ts';
import { relativeTime } from '../../src/page/text/time.ts';

const PIECES = [
  '# A\n',
  'word ',
  '\n\n',
  '- item\n',
  '```js\n',
  'x = 1\n',
  '```\n',
  '| a | b |\n',
  '|---|---|\n',
  '1. ',
  '> ',
];

describe('a text that grows', () => {
  test('is whole at every moment, however it is cut', () => {
    assert(
      property(array(constantFrom(...PIECES), { maxLength: 40 }), (pieces) => {
        let blocks: Blocks = NO_BLOCKS;
        let text = '';
        for (const piece of pieces) {
          text += piece;
          blocks = growBlocks(blocks, text);
          expect(blocks.sources.join('')).toBe(text);
        }
      }),
      { seed: 20, numRuns: 300 },
    );
  });

  test('keeps its finished blocks as they are', () => {
    const first = growBlocks(NO_BLOCKS, 'One.\n\nTwo.\n\nThr');
    const second = growBlocks(first, 'One.\n\nTwo.\n\nThree.');
    expect(second.sources).toEqual(['One.\n\n', 'Two.\n\n', 'Three.']);
    expect(first.sources.slice(0, 2)).toEqual(second.sources.slice(0, 2));
  });

  test('begins anew when another text takes its place', () => {
    const first = growBlocks(NO_BLOCKS, 'One.\n\nTwo.');
    expect(growBlocks(first, 'Other.').sources).toEqual(['Other.']);
  });
});

describe('what may be shown', () => {
  test.each([
    'javascript:alert(1)',
    'data:text/html,x',
    'vbscript:x',
    'file:///etc/passwd',
    '/relative',
    '//host',
    'x',
  ])('%s is no link', (href) => expect(safeLink(href)).toBeUndefined());

  test.each(['https://example.com/a', 'http://localhost:1/', 'mailto:sam@example.com'])('%s is a link', (href) =>
    expect(safeLink(href)).toBe(href),
  );

  test('controls that turn text around are written out', () => {
    expect(shown('invoice\u202Egnp.exe')).toBe('invoice⟦U+202E⟧gnp.exe');
    expect(shown('\u2066a\u2069')).toBe('⟦U+2066⟧a⟦U+2069⟧');
  });
});

describe('a relative time', () => {
  const now = Date.UTC(2026, 10, 25, 12);
  test.each([
    [0, 'now'],
    [-59_000, 'now'],
    [-5 * 60_000, '5 minutes ago'],
    [3 * 3_600_000, 'in 3 hours'],
    [-30 * 3_600_000, 'yesterday'],
  ])('%i ms from now is "%s"', (ms, words) => expect(relativeTime(now + ms, now)).toBe(words));

  const saturday = new Date(2026, 10, 28, 15, 10).getTime();
  test.each([
    [new Date(2026, 10, 30, 9), /^in 2 days, 0?9:00/u],
    [new Date(2026, 10, 29, 16), /^tomorrow, (?:16|0?4):00/u],
    [new Date(2026, 10, 27, 9), /^yesterday$/u],
    [new Date(2026, 10, 26, 23), /^2 days ago$/u],
    [new Date(2026, 11, 4, 9), /^in 6 days, 0?9:00/u],
  ])('seen on Saturday at 15:10, %s counts calendar days', (at, words) =>
    expect(relativeTime(at.getTime(), saturday)).toMatch(words),
  );
});
