import type * as workers from 'node:worker_threads';
import { expect, test, vi } from 'vitest';
import { createGuardedFetch } from '../../src/security/fetch.ts';
import { webFetchTool } from '../../src/tools/web-fetch.ts';
import { webSearchTool } from '../../src/tools/web-search.ts';
import { createPageReader } from '../../src/tools/web/page-thread.ts';
import { systemClock } from '../../src/util/clock.ts';
import { testToolContext } from '../support/tool-context.ts';
import { caller, webWorld } from './web-world.ts';

/** How threads are started, and how many were ended. */
const threads = vi.hoisted(() => ({ started: [] as Readonly<Record<string, unknown>>[], ended: 0 }));

vi.mock('node:worker_threads', async (original) => {
  const real = await original<typeof workers>();
  class Recorded extends real.Worker {
    constructor(...[file, options]: ConstructorParameters<typeof real.Worker>) {
      super(file, options);
      threads.started.push({ ...options });
    }

    override terminate(): Promise<number> {
      threads.ended += 1;
      return super.terminate();
    }
  }
  return { ...real, Worker: Recorded };
});

test('what the web says counts as words of strangers, also where it fails', async () => {
  await using web = await webWorld({ '/': 'fine' });
  const fetched = caller(webFetchTool({ fetch: web.fetch, clock: systemClock, maxChars: 1_000 }));
  expect(await fetched({ url: web.url })).toMatchObject({ output: 'fine', untrusted: true });
  expect(await fetched({ url: `${web.url}/missing` })).toMatchObject({ isError: true, untrusted: true });
  const settings = { searchProvider: 'searxng', searchApiKey: null, searchUrl: web.url } as const;
  expect(await caller(webSearchTool({ fetch: web.fetch, ...settings }))({ query: 'bees' })).toMatchObject({
    untrusted: true,
  });
});

test('where nobody knows which addresses were given, each counts as put together by the model', async () => {
  const fetch = createGuardedFetch({ allowHosts: [], denyHosts: [], clock: systemClock });
  const tool = webFetchTool({ fetch, clock: systemClock, maxChars: 1_000 });
  const declared = await tool.action?.({ url: 'http://93.184.215.14/x' }, testToolContext());
  expect(declared?.action).toEqual({ kind: 'fetch-url', composed: true, hostAllowed: false });
});

test('the thread that reads a page has no environment of the assistant, and bounds for its memory', async () => {
  const readPage = createPageReader({ clock: systemClock });
  const page = { bytes: Buffer.from('<p>fine'), kind: 'html', charset: 'utf-8', url: 'https://site.example/' } as const;
  await readPage(page, new AbortController().signal);
  expect(threads.started.at(-1)).toMatchObject({ env: {}, resourceLimits: { maxOldGenerationSizeMb: 160 } });
  expect(threads.started.at(-1)?.['env']).toEqual({});
});

test('no thread outlives its page, whether it was read or not', async () => {
  const page = { bytes: Buffer.from('<p>fine'), kind: 'html', charset: 'utf-8', url: 'https://site.example/' } as const;
  const { started, ended } = { started: threads.started.length, ended: threads.ended };
  await createPageReader({ clock: systemClock })(page, new AbortController().signal);
  await expect(
    createPageReader({ clock: systemClock, timeoutMs: 1 })(page, new AbortController().signal),
  ).rejects.toMatchObject({ code: 'page-late' });
  expect(threads.started.length - started).toBeGreaterThan(1);
  expect(threads.ended - ended).toBe(threads.started.length - started);
});
