import { decodeHTML } from 'entities';
import * as z from 'zod';
import { readDuckDuckGo, type WebHit } from './duckduckgo.ts';

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

const hit = z.object({ title: text, url: text });
/** Without `web` nothing was found. */
const braveAnswer = z.object({
  web: z.object({ results: z.array(hit.extend({ description: text })) }).default({ results: [] }),
});
/** Of Tavily and SearXNG. */
const contentAnswer = z.object({ results: z.array(hit.extend({ content: text })) });
const serperAnswer = z.object({ organic: z.array(z.object({ title: text, link: text, snippet: text })).default([]) });
const exaAnswer = z.object({ results: z.array(hit.extend({ highlights: texts, summary: text, text })) });

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
    read: (answer) =>
      parsed(braveAnswer, answer)?.web.results.map(({ title, url, description }) => ({
        title: decodeHTML(title),
        url,
        snippet: decodeHTML(description.replace(/<\/?strong>/gu, '')),
      })) ?? null,
  },
  tavily: {
    title: 'Tavily',
    url: 'https://api.tavily.com/search',
    needsKey: true,
    request: ({ query, count, key, url }) =>
      post(url, { authorization: `Bearer ${key}` }, { query, max_results: count }),
    read: readContent,
  },
  serper: {
    title: 'Serper',
    url: 'https://google.serper.dev/search',
    needsKey: true,
    request: ({ query, count, key, url }) => post(url, { 'x-api-key': key }, { q: query, num: count }),
    read: (answer) =>
      parsed(serperAnswer, answer)?.organic.map(({ link, ...rest }) => ({ ...rest, url: link })) ?? null,
  },
  exa: {
    title: 'Exa',
    url: 'https://api.exa.ai/search',
    needsKey: true,
    request: ({ query, count, key, url }) =>
      post(url, { 'x-api-key': key }, { query, numResults: count, contents: { highlights: true } }),
    read: (answer) =>
      parsed(exaAnswer, answer)?.results.map(({ title, url, highlights, summary, text }) => ({
        title,
        url,
        snippet: highlights.join(' … ') || summary || text,
      })) ?? null,
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
    read: readContent,
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
} as const satisfies Record<string, SearchProvider>;

export type SearchProviderName = keyof typeof SEARCH_PROVIDERS;

function readContent(answer: string): readonly WebHit[] | null {
  return parsed(contentAnswer, answer)?.results.map(({ content, ...rest }) => ({ ...rest, snippet: content })) ?? null;
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
