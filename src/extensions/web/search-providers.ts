import { decodeHTML } from 'entities';
import { Parser } from 'htmlparser2';
import * as z from 'zod';
import type { SearchProviderName } from './settings.ts';

/** One result of a web search, as strangers wrote it. */
export interface WebHit {
  readonly title: string;
  readonly url: string;
  readonly snippet: string;
}

interface SearchRequest {
  readonly url: string;
  readonly method?: 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

interface SearchQuery {
  readonly query: string;
  readonly count: number;
  /** Empty where none is needed. */
  readonly key: string;
  /** The address of the service, or the one that is configured instead. */
  readonly url: string;
}

interface SearchProvider {
  /** As people know it. */
  readonly title: string;
  /** Null: it must be configured. */
  readonly url: string | null;
  readonly needsKey: boolean;
  request(query: SearchQuery): SearchRequest;
  /** Null: the answer is not what it should be. */
  read(answer: string): readonly WebHit[] | null;
}

const text = z
  .string()
  .nullish()
  .transform((value) => value ?? '');
const texts = z
  .array(z.string())
  .nullish()
  .transform((value) => value ?? []);

/** A result as one of the services writes it; each has names of its own for the address and the excerpt. */
const results = z.array(
  z
    .object({ title: text, url: text, link: text, highlights: texts, summary: text, text })
    .extend({ description: text, content: text, snippet: text })
    .transform(({ title, url, link, highlights, ...texts }) => ({
      title,
      url: url || link,
      snippet:
        texts.description || texts.content || texts.snippet || highlights.join(' … ') || texts.summary || texts.text,
    })),
);
const someResults = z.object({ results }).transform((answer) => answer.results);
/** Without these lists nothing was found. */
const braveResults = z
  .object({ web: z.object({ results }).default({ results: [] }) })
  .transform(({ web }) => web.results.map(withoutMarkup));
const serperResults = z.object({ organic: results.default([]) }).transform(({ organic }) => organic);

/** The searches that are known, in the order in which `auto` looks for a key. */
export const SEARCH_PROVIDERS = {
  brave: {
    title: 'Brave Search',
    url: 'https://api.search.brave.com/res/v1/web/search',
    needsKey: true,
    request: ({ query, count, key, url }) => ({
      url: withParameters(url, { q: query, count: String(count), text_decorations: 'false' }),
      headers: { accept: 'application/json', 'x-subscription-token': key },
    }),
    read: (answer) => parsed(braveResults, answer),
  },
  tavily: {
    title: 'Tavily',
    url: 'https://api.tavily.com/search',
    needsKey: true,
    request: ({ query, count, key, url }) =>
      post(url, { authorization: `Bearer ${key}` }, { query, max_results: count }),
    read: (answer) => parsed(someResults, answer),
  },
  serper: {
    title: 'Serper',
    url: 'https://google.serper.dev/search',
    needsKey: true,
    request: ({ query, count, key, url }) => post(url, { 'x-api-key': key }, { q: query, num: count }),
    read: (answer) => parsed(serperResults, answer),
  },
  exa: {
    title: 'Exa',
    url: 'https://api.exa.ai/search',
    needsKey: true,
    request: ({ query, count, key, url }) =>
      post(url, { 'x-api-key': key }, { query, numResults: count, contents: { highlights: true } }),
    read: (answer) => parsed(someResults, answer),
  },
  searxng: {
    title: 'SearXNG',
    url: null,
    needsKey: false,
    request: ({ query, url }) => ({
      url: withParameters(url.endsWith('/search') ? url : `${url.replace(/\/$/u, '')}/search`, {
        q: query,
        format: 'json',
      }),
      headers: { accept: 'application/json' },
    }),
    read: (answer) => parsed(someResults, answer),
  },
  duckduckgo: {
    title: 'DuckDuckGo',
    url: 'https://html.duckduckgo.com/html/',
    needsKey: false,
    request: ({ query, url }) => ({
      url: withParameters(url, { q: query }),
      headers: {
        accept: 'text/html',
        'accept-language': 'en-US,en;q=0.8',
        'user-agent': 'Mozilla/5.0 (compatible; assistant)',
      },
    }),
    read: readDuckDuckGo,
  },
} as const satisfies Record<SearchProviderName, SearchProvider>;

function withoutMarkup({ title, url, snippet }: WebHit): WebHit {
  return { title: decodeHTML(title), url, snippet: decodeHTML(snippet.replace(/<\/?strong>/gu, '')) };
}

function parsed<Output>(schema: z.ZodType<Output>, answer: string): Output | null {
  try {
    return schema.parse(JSON.parse(answer));
  } catch {
    return null;
  }
}

function post(url: string, headers: Readonly<Record<string, string>>, body: unknown): SearchRequest {
  return {
    url,
    method: 'POST',
    headers: { accept: 'application/json', 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  };
}

function withParameters(url: string, parameters: Readonly<Record<string, string>>): string {
  const address = new URL(url);
  for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, value);
  return address.href;
}

/** Elements within elements, of a page that may be read here. */
const DEEPEST = 200;
const PIECE = 1_000;

/**
 * Reads DuckDuckGo's page for browsers without scripts: links of class `result__a`, their texts of class
 * `result__snippet`; advertisements are left out. Null: it is not such a page (a question whether one is human, or it
 * was changed).
 */
function readDuckDuckGo(html: string): readonly WebHit[] | null {
  const hits: { title: string; url: string; snippet: string }[] = [];
  let isKnown = false;
  let field: 'title' | 'snippet' | null = null;
  let depth = 0;
  /** Where the element of `field` is. */
  let at = 0;
  const parser = new Parser({
    onopentag: (_name, { class: classes = '', href = '' }) => {
      depth += 1;
      const isResult = /(?<!\S)result__a(?!\S)/u.test(classes);
      if (isResult || /(?<!\S)no-results(?!\S)/u.test(classes)) isKnown = true;
      if (isResult) hits.push({ title: '', url: targetOf(href), snippet: '' });
      else if (!/(?<!\S)result__snippet(?!\S)/u.test(classes)) return;
      field = isResult ? 'title' : 'snippet';
      at = depth;
    },
    ontext: (piece) => {
      const hit = hits.at(-1);
      if (field !== null && hit !== undefined) hit[field] += piece;
    },
    onclosetag: () => {
      if (depth === at) field = null;
      depth -= 1;
    },
  });
  for (let from = 0; from < html.length; from += PIECE) {
    // What is deeper takes the parser a time that grows faster than the page.
    if (depth > DEEPEST) return null;
    parser.write(html.slice(from, from + PIECE));
  }
  parser.end();
  return isKnown ? hits.filter(({ url }) => url !== '') : null;
}

const HOME = 'https://duckduckgo.com/';

/** Behind the address that counts clicks; empty for an advertisement. */
function targetOf(href: string): string {
  if (!URL.canParse(href, HOME)) return '';
  const url = new URL(href, HOME);
  if (!/(?:^|\.)duckduckgo\.com$/u.test(url.hostname)) return url.href;
  return (url.pathname.startsWith('/l/') ? url.searchParams.get('uddg') : null) ?? '';
}
