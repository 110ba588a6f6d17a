import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyLongText, anyText } from '../support/markdown-documents.ts';
import { faultsOf, platforms, showsAll } from '../support/markup-platforms.ts';

describe.each(platforms)('any document on $name', (platform) => {
  test('gives parts that the platform takes and that show what the document shows', () => {
    fc.assert(
      fc.property(anyText, (markdown) => {
        expect(faultsOf(markdown, platform)).toEqual([]);
      }),
      { numRuns: 700, seed: 20_260_101 },
    );
  });

  test('gives such parts also when it is many messages long', () => {
    fc.assert(
      fc.property(anyLongText, (markdown) => {
        expect(faultsOf(markdown, platform)).toEqual([]);
      }),
      { numRuns: 12, seed: 20_260_102 },
    );
  });

  test('loses nothing that a web page would show', () => {
    fc.assert(
      fc.property(anyText, (markdown) => {
        expect(showsAll(markdown, platform)).toBe(true);
      }),
      { numRuns: 300, seed: 20_260_103 },
    );
  });
});
