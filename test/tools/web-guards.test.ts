import { expect, test } from 'vitest';
import { createGuardedFetch } from '../../src/core/security/fetch/fetch.ts';
import { webFetchTool } from '../../src/extensions/web/web-fetch.ts';
import { webSearchTool } from '../../src/extensions/web/web-search.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { testToolContext } from '../support/tool-context.ts';
import { caller, readHere, webWorld } from './web-world.ts';

test('what the web says counts as words of strangers, also where it fails', async () => {
  await using web = await webWorld({ '/': 'fine' });
  const fetched = caller(webFetchTool({ fetch: web.fetch, clock: systemClock, maxChars: 1_000, read: readHere }));
  expect(await fetched({ url: web.url })).toMatchObject({ output: 'fine', untrusted: true });
  expect(await fetched({ url: `${web.url}/missing` })).toMatchObject({ isError: true, untrusted: true });
  const settings = { searchProvider: 'searxng', searchApiKey: null, searchUrl: web.url } as const;
  expect(await caller(webSearchTool({ fetch: web.fetch, ...settings }))({ query: 'bees' })).toMatchObject({
    untrusted: true,
  });
});

test('where nobody knows which addresses were given, each counts as put together by the model', async () => {
  const fetch = createGuardedFetch({ allowHosts: [], denyHosts: [], clock: systemClock });
  const tool = webFetchTool({ fetch, clock: systemClock, maxChars: 1_000, read: readHere });
  expect(await tool.plan({ url: 'http://93.184.215.14/x' }, testToolContext())).toMatchObject({
    reaches: { action: { kind: 'fetch-url', composed: true, selected: false, hostAllowed: false } },
  });
});
