import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyLongText, anyText } from '../support/markdown-documents.ts';
import { faultsOf, platforms } from '../support/markup-platforms.ts';

describe.each(platforms)('very many documents on $name', (platform) => {
  test.each([
    ['short', anyText, 30_000],
    ['many messages long', anyLongText, 300],
  ])('%s ones: all are legal and show what they say', { timeout: 900_000 }, (_, documents, numRuns) => {
    fc.assert(
      fc.property(documents, (markdown) => {
        expect(faultsOf(markdown, platform)).toEqual([]);
      }),
      { numRuns },
    );
  });
});
