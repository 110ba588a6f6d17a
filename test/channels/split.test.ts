import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { splitRanges } from '../../src/core/channels/markup/split.ts';

const split = (text: string, limit: number): readonly string[] =>
  splitRanges(text, limit).map(({ start, end }) => text.slice(start, end));

describe('where a text is cut', () => {
  test.each([
    ['a short text stays whole', 'one two', 20, ['one two']],
    ['between paragraphs', 'one two.\n\nthree four. five', 20, ['one two.', 'three four. five']],
    ['else between lines', 'one two three\nfour five six', 20, ['one two three', 'four five six']],
    ['else between sentences', 'One two three. Four five six seven', 20, ['One two three.', 'Four five six seven']],
    ['else between words', 'onetwo three fourfive six', 15, ['onetwo three', 'fourfive six']],
    ['a word that is too long is cut hard', 'abcdefghij', 4, ['abcd', 'efgh', 'ij']],
    ['a break exactly at the limit is used', 'abcd efgh', 4, ['abcd', 'efgh']],
    ['indentation after a cut survives', 'if x:\n    y()\n    z()', 13, ['if x:\n    y()', '    z()']],
    ['sentences without white space between them', '日本語です。次の文です。終', 8, ['日本語です。', '次の文です。終']],
    ['blank text has no parts', ' \n\n ', 10, []],
  ])('%s', (_, text, limit, parts) => {
    expect(split(text, limit)).toEqual(parts);
  });

  test('a pair of surrogates is never cut', () => {
    expect(split('😀😀😀', 3)).toEqual(['😀', '😀', '😀']);
    expect(split('😀😀', 1)).toEqual(['😀', '😀']);
  });

  test('what people see as one character is not cut, unless it is longer than a part', () => {
    const family = '👩‍👩‍👧‍👦';
    expect(split(`${family}${family}`, family.length + 3)).toEqual([family, family]);
    expect(split('e\u0301'.repeat(4), 3)).toEqual(['e\u0301', 'e\u0301', 'e\u0301', 'e\u0301']);
    expect(split(`a${'\u0301'.repeat(10)}`, 4).every((part) => part.length <= 4)).toBe(true);
  });

  test('nothing but white space is lost, and no part is too long or blank', () => {
    const text = fc.string({
      unit: fc.constantFrom('a', 'bc', ' ', '\n', '\n\n', '.', '. ', '😀', 'é', '\u3000', '\t', 'word '),
      maxLength: 300,
    });
    fc.assert(
      fc.property(text, fc.integer({ min: 2, max: 60 }), (input, limit) => {
        const parts = split(input, limit);
        for (const part of parts) {
          expect(part.length).toBeLessThanOrEqual(limit);
          expect(part.trim()).not.toBe('');
          expect(part.isWellFormed()).toBe(true);
        }
        expect(parts.join('').replace(/\s/gu, '')).toBe(input.replace(/\s/gu, ''));
      }),
      { numRuns: 500 },
    );
  });
});
