import { expect, test } from 'vitest';
import { createReader } from '../../src/core/tools/reading/reader.ts';
import { pageText } from '../../src/extensions/web/web-fetch.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { CORPUS } from './web-corpus.ts';

test.each(CORPUS)('$name: still gives its text, in two times 5 s', async ({ page, expected }) => {
  const task = { kind: 'html', charset: 'utf-8', url: 'https://site.example/' } as const;
  const options = { role: 'owner', signal: new AbortController().signal } as const;
  const { text } = await pageText({ bytes: Buffer.from(page()), task }, createReader({ clock: systemClock }), options);
  expect(text.slice(0, 2_000)).toMatch(expected);
  expect(text.length).toBeLessThanOrEqual(3_000_000);
});
