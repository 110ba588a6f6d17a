import type { IncomingMessage } from 'node:http';
import { describe, expect, test } from 'vitest';
import { createGuardedFetch } from '../../src/core/security/fetch/fetch.ts';
import type { ToolResult } from '../../src/core/tools/tool.ts';
import { webSearchTool, type SearchSettings } from '../../src/extensions/web/web-search.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { load } from '../config/temporary-home.ts';
import { pause, readBody } from '../support/http.ts';
import { caller, webWorld } from './web-world.ts';
import type { TestCall } from '../support/tool-context.ts';

const KEY = 'key-of-the-search-12345';
const FETCH = createGuardedFetch({ allowHosts: [], denyHosts: ['*'], clock: systemClock });

interface Searched {
  readonly result: ToolResult;
  /** What the service was asked; undefined when it was not. */
  readonly asked: { url: URL; method: string; headers: IncomingMessage['headers']; body: unknown } | undefined;
}

/** One search with a service on 127.0.0.1 that answers this. */
async function search(
  settings: Partial<SearchSettings>,
  answer: { status?: number; body: unknown },
  args: unknown = { query: 'bees & flowers', count: 2 },
  context: Partial<TestCall> = {},
): Promise<Searched> {
  let asked: Searched['asked'];
  await using web = await webWorld(async (request, response) => {
    const body = await readBody(request);
    asked = {
      url: new URL(request.url ?? '/', 'http://service.example'),
      method: request.method ?? '',
      headers: request.headers,
      body: body === '' ? undefined : JSON.parse(body),
    };
    response.writeHead(answer.status ?? 200, { 'content-type': 'text/html' });
    response.end(typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body));
  });
  const tool = webSearchTool({
    fetch: web.fetch,
    searchProvider: 'auto',
    searchApiKey: null,
    searchUrl: `${web.url}/find`,
    ...settings,
  });
  const result = await caller(tool)(args, context);
  return { result, asked };
}

const FOUND = `1. Bees
   https://bees.example/
   Bees dance.

2. Flowers & more
   https://flowers.example/a?b=c
   Flowers do not.`;

const HITS = [
  { title: 'Bees', url: 'https://bees.example/', snippet: 'Bees dance.' },
  { title: 'Flowers & more', url: 'https://flowers.example/a?b=c', snippet: 'Flowers do not.' },
  { title: 'Third', url: 'https://third.example/', snippet: 'More than was asked for.' },
];

describe('each service is asked in its own way, and answers alike', () => {
  test('Brave Search', async () => {
    const results = HITS.map(({ title, url, snippet }) => ({
      type: 'search_result',
      title: title.replace('&', '&amp;'),
      url,
      description: snippet.replace('dance', '<strong>dance</strong>'),
      language: 'en',
    }));
    const body = { type: 'search', query: { original: 'bees' }, web: { type: 'search', results } };
    const { result, asked } = await search({ searchProvider: 'brave', searchApiKey: KEY }, { body });
    expect(result).toMatchObject({
      output: FOUND,
      untrusted: true,
      metadata: { provider: 'brave', found: '2 results' },
    });
    expect(asked?.method).toBe('GET');
    expect(asked?.headers['x-subscription-token']).toBe(KEY);
    expect(Object.fromEntries(asked?.url.searchParams ?? [])).toMatchObject({ q: 'bees & flowers', count: '2' });
  });

  test('Tavily', async () => {
    const results = HITS.map(({ title, url, snippet }) => ({
      title,
      url,
      content: snippet,
      score: 0.9,
      raw_content: null,
    }));
    const body = { query: 'bees', answer: null, images: [], results, response_time: 1.2 };
    const { result, asked } = await search({ searchProvider: 'tavily', searchApiKey: KEY }, { body });
    expect(result).toMatchObject({ output: FOUND, untrusted: true });
    expect(asked).toMatchObject({ method: 'POST', body: { query: 'bees & flowers', max_results: 2 } });
    expect(asked?.headers['authorization']).toBe(`Bearer ${KEY}`);
  });

  test('Serper', async () => {
    const organic = HITS.map(({ title, url, snippet }, at) => ({ title, link: url, snippet, position: at + 1 }));
    const body = { searchParameters: { q: 'bees', type: 'search' }, organic, relatedSearches: [] };
    const { result, asked } = await search({ searchProvider: 'serper', searchApiKey: KEY }, { body });
    expect(result).toMatchObject({ output: FOUND, untrusted: true });
    expect(asked).toMatchObject({ method: 'POST', body: { q: 'bees & flowers', num: 2 } });
    expect(asked?.headers['x-api-key']).toBe(KEY);
  });

  test('Exa', async () => {
    const results = HITS.map(({ title, url, snippet }) => ({
      id: url,
      title,
      url,
      publishedDate: null,
      highlights: [snippet],
    }));
    const { result, asked } = await search(
      { searchProvider: 'exa', searchApiKey: KEY },
      { body: { requestId: 'x', results } },
    );
    expect(result).toMatchObject({ output: FOUND, untrusted: true });
    expect(asked).toMatchObject({
      method: 'POST',
      body: { query: 'bees & flowers', numResults: 2, contents: { highlights: true } },
    });
    expect(asked?.headers['x-api-key']).toBe(KEY);
  });

  test('SearXNG', async () => {
    const results = HITS.map(({ title, url, snippet }) => ({
      title,
      url,
      content: snippet,
      engine: 'x',
      category: 'general',
    }));
    const { result, asked } = await search({}, { body: { query: 'bees', number_of_results: 0, results, answers: [] } });
    expect(result).toMatchObject({ output: FOUND, untrusted: true, metadata: { provider: 'searxng' } });
    expect(asked?.url.pathname).toBe('/find/search');
    expect(Object.fromEntries(asked?.url.searchParams ?? [])).toEqual({ q: 'bees & flowers', format: 'json' });
  });

  test('DuckDuckGo', async () => {
    const body = `<html><body><div class="results">
      <div class="result result--ad"><a class="result__a" href="https://duckduckgo.com/y.js?ad_domain=x.example">Ad</a>
        <a class="result__snippet" href="x">Buy</a></div>
      ${HITS.map(
        ({ title, url, snippet }) => `<div class="result results_links web-result"><div class="links_main">
        <h2 class="result__title"><a rel="nofollow" class="result__a"
          href="//duckduckgo.com/l/?uddg=${encodeURIComponent(url)}&amp;rut=abc">${title.replace('&', '&amp;')}</a></h2>
        <a class="result__url" href="x">${url}</a>
        <a class="result__snippet" href="x">${snippet.replace('Bees', '<b>Bees</b>')}</a></div></div>`,
      ).join('\n')}</div></body></html>`;
    const { result, asked } = await search({ searchProvider: 'duckduckgo' }, { body });
    expect(result).toMatchObject({ output: FOUND, untrusted: true });
    expect(asked?.url.searchParams.get('q')).toBe('bees & flowers');
  });
});

describe('what a service answers else', () => {
  test.each([
    ['brave', 401, 'Brave Search refused the key (status 401): check tools.web.searchApiKey.'],
    ['tavily', 432, 'Tavily takes no more searches at the moment (status 432): wait, or check the plan there.'],
    ['serper', 403, 'Serper refused the key (status 403): check tools.web.searchApiKey.'],
    ['exa', 429, 'Exa takes no more searches at the moment (status 429): wait, or check the plan there.'],
    ['searxng', 403, 'SearXNG refused (status 403): its settings must allow the format json (search.formats).'],
    ['serper', 500, 'Serper answered with status 500: try again later'],
    ['duckduckgo', 202, 'DuckDuckGo gave no page of results (it asks whether you are human, or was changed)'],
  ] as const)('%s with status %i is a sentence without the key', async (searchProvider, status, sentence) => {
    const { result } = await search({ searchProvider, searchApiKey: KEY }, { status, body: `refused: ${KEY}` });
    expect(result).toMatchObject({ isError: true, metadata: { status } });
    expect(result.output).toContain(sentence);
    expect(JSON.stringify(result)).not.toContain(KEY);
  });

  test.each([
    ['brave', '<html>hello</html>'],
    ['tavily', { answer: 'no list' }],
    ['exa', { results: [{ title: 1 }] }],
    ['searxng', '[]'],
  ] as const)('of %s what is no answer is a sentence', async (searchProvider, body) => {
    const { result } = await search({ searchProvider, searchApiKey: KEY }, { body });
    expect(result.isError).toBe(true);
    expect(result.output).toContain('gave an answer that is not one of a search');
  });

  test('of DuckDuckGo a page that asks who is there is a sentence that says what to set', async () => {
    const { result } = await search(
      { searchProvider: 'duckduckgo' },
      { body: '<div class="anomaly-modal">Bots use us too</div>' },
    );
    expect(result.isError).toBe(true);
    expect(result.output).toContain('set a search with a key (tools.web.searchProvider, tools.web.searchApiKey');
  });

  test.each([
    ['brave', { type: 'search' }],
    ['serper', { searchParameters: {} }],
    ['duckduckgo', '<div class="no-results">No results found</div>'],
  ] as const)('of %s nothing is not an error', async (searchProvider, body) => {
    const { result } = await search({ searchProvider, searchApiKey: KEY }, { body });
    expect(result).toMatchObject({ output: 'Nothing was found.', metadata: { found: '0 results' } });
  });

  test('is cut to what was asked for, one line each, and only addresses of the web are shown', async () => {
    const results = [
      { title: 'x'.repeat(900), url: 'https://long.example/', content: `a\n\n\n${'y '.repeat(2_000)}` },
      { title: 'script', url: 'javascript:alert(1)', content: 'no' },
      { title: 'endless', url: `https://e.example/${'a'.repeat(5_000)}`, content: 'no' },
      { title: null, url: 'https://bare.example/', content: null },
    ];
    const { result } = await search({}, { body: { results } }, { query: 'q', count: 20 });
    expect(result.output.split('\n')).toHaveLength(5);
    expect(result.output.length).toBeLessThan(800);
    expect(result.output).toMatch(/\n\n2\. https:\/\/bare\.example\/$/u);
    expect(result.output).not.toMatch(/javascript|e\.example\/a/u);
  });
});

describe('which service it is', () => {
  const ask = (settings: Partial<SearchSettings>): Promise<ToolResult> =>
    caller(webSearchTool({ fetch: FETCH, searchProvider: 'auto', searchApiKey: null, searchUrl: null, ...settings }))({
      query: 'x',
    });

  test.each([
    [
      { searchProvider: 'brave' },
      'Brave Search needs a key: set tools.web.searchApiKey (or BRAVE_API_KEY in the environment).',
    ],
    [
      { searchProvider: 'searxng' },
      'SearXNG needs its address: set tools.web.searchUrl (or SEARXNG_URL in the environment).',
    ],
    [
      { searchApiKey: KEY },
      'There is a key in tools.web.searchApiKey, but not whose: name it in tools.web.searchProvider (brave, tavily, serper, exa, searxng, duckduckgo).',
    ],
  ] as const)('says what to set: %o', async (settings, sentence) => {
    expect(await ask(settings)).toMatchObject({ isError: true, output: sentence });
  });

  test('is DuckDuckGo without any setting, and Tavily where the key says so', async () => {
    expect((await ask({})).output).toContain('html.duckduckgo.com');
    expect((await ask({ searchApiKey: 'tvly-123456789' })).output).toContain('api.tavily.com');
  });

  test.each([
    [
      undefined,
      { TAVILY_API_KEY: KEY, EXA_API_KEY: 'other' },
      { searchProvider: 'tavily', searchApiKey: KEY, searchUrl: null },
    ],
    [
      undefined,
      { SEARXNG_URL: 'http://10.0.0.5:8888' },
      { searchProvider: 'searxng', searchUrl: 'http://10.0.0.5:8888' },
    ],
    [
      '{"tools": {"web": {"searchProvider": "exa"}}}',
      { BRAVE_API_KEY: 'other', EXA_API_KEY: KEY },
      { searchProvider: 'exa', searchApiKey: KEY },
    ],
    [
      '{"tools": {"web": {"searchProvider": "exa", "searchApiKey": "mine"}}}',
      { EXA_API_KEY: KEY },
      { searchApiKey: 'mine' },
    ],
    [
      '{"tools": {"web": {"searchUrl": "http://10.0.0.5"}}}',
      { BRAVE_API_KEY: KEY },
      { searchProvider: 'auto', searchApiKey: null },
    ],
    [
      '{"tools": {"web": {"searchProvider": "duckduckgo"}}}',
      { BRAVE_API_KEY: KEY },
      { searchProvider: 'duckduckgo', searchApiKey: null },
    ],
    [undefined, { BRAVE_API_KEY: '' }, { searchProvider: 'auto', searchApiKey: null }],
  ])('follows the file, then the environment: %s %o', async (file, env, expected) => {
    const { config } = await load(file, env);
    expect(config.tools.web).toMatchObject(expected);
  });
});

describe('as every tool', () => {
  test('it answers wrong arguments with what is wrong', async () => {
    for (const args of [{}, { query: ' ' }, { query: 'x', count: 0 }, { query: 'x', count: 21 }]) {
      const { result, asked } = await search({}, { body: {} }, args);
      expect(result.isError, JSON.stringify(args)).toBe(true);
      expect(asked).toBeUndefined();
    }
  });

  test('it is for guests too', async () => {
    expect(
      (await search({}, { body: { results: [] } }, { query: 'x' }, { role: 'guest' })).result.isError,
    ).toBeUndefined();
  });

  test('it stops when the turn is stopped', async () => {
    await using web = await webWorld(async (_request, response) => {
      await pause(response, 20_000);
      response.end();
    });
    const stop = new AbortController();
    const settings = { searchProvider: 'searxng', searchApiKey: null, searchUrl: web.url } as const;
    const call = caller(webSearchTool({ fetch: web.fetch, ...settings }));
    const result = await call({ query: 'x' }, { signal: stop.signal, progress: () => stop.abort() });
    expect(result).toMatchObject({ isError: true, note: 'Cut off: the turn was stopped.' });
  });

  test('it only reads', () => {
    const tool = webSearchTool({ fetch: FETCH, searchProvider: 'auto', searchApiKey: null, searchUrl: null });
    expect(tool.effect).toBe('none');
  });
});

describe('a query in a private conversation with text of strangers', () => {
  const said = [
    { author: 'person', text: 'How is the weather in 8010 Graz?' },
    { author: 'outside', text: 'Model QX-9 of 2019, order 5512.' },
    { author: 'model', text: 'hunter2' },
    { author: 'outside', text: 'No result for hunter2.' },
  ] as const;
  const isAsked = async (query: string): Promise<boolean> => {
    const asked: string[] = [];
    const { result } = await search(
      {},
      { body: { results: [] } },
      { query },
      {
        taint: { untrusted: true, private: true },
        said: () => said,
        approve: async ({ detail }) => {
          asked.push(detail);
          return { approved: false, reason: 'no' };
        },
      },
    );
    expect(asked).toEqual(result.refused === true ? [query] : []);
    return result.refused === true;
  };

  test.each([
    'weather graz 8010',
    'who makes the qx-9',
    'order 5512',
    'prices of 2026',
    'news 2026-11-30',
    'top 10 teas',
  ])('is sent unasked with the numbers that somebody said, and with dates: %s', async (query) => {
    expect(await isAsked(query)).toBe(false);
  });

  test.each(['4711', 'who has the pin 4711', 'hunter2', 'site:evil.example xk7', 'http://evil.example/?s=pass1'])(
    'needs a yes with a number or code that is from the owner’s files or from nobody: %s',
    async (query) => {
      expect(await isAsked(query)).toBe(true);
    },
  );
});
