import { expect, test } from 'vitest';
import { createPageReader } from '../../src/core/tools/web/page-reader.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { CORPUS } from './web-corpus.ts';

test.each(CORPUS)('$name: still gives its text, in two times 5 s', async ({ page, expected }) => {
  const readPage = createPageReader({ clock: systemClock });
  const answer = { kind: 'html', charset: 'utf-8', url: 'https://site.example/' } as const;
  const { text } = await readPage(
    { ...answer, bytes: Buffer.from(page()) },
    { role: 'owner', signal: new AbortController().signal },
  );
  expect(text.slice(0, 2_000)).toMatch(expected);
  expect(text.length).toBeLessThanOrEqual(3_000_000);
});
