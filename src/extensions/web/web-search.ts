import * as z from 'zod';
import { oneLine, plural } from '../../core/api.ts';
import {
  defineTool,
  errorResult,
  type Executed,
  type FetchResult,
  isSaidByOthers,
  type SaidText,
  type GuardedFetch,
  type Tool,
  type ToolContext,
  type ToolResult,
} from '../../core/api-tools.ts';
import { SEARCH_PROVIDERS, type WebHit } from './search-providers.ts';
import type { SearchProviderName } from './settings.ts';

/** `tools.web` of the configuration, as far as searching is concerned. */
export interface SearchSettings {
  /** `auto`: the one that the other two point to, else the one that needs neither. */
  readonly searchProvider: 'auto' | SearchProviderName;
  readonly searchApiKey: string | null;
  readonly searchUrl: string | null;
}

export interface WebSearchOptions extends SearchSettings {
  /** Also reaches the host of `searchUrl`. */
  readonly fetch: GuardedFetch;
}

const DEFAULT_COUNT = 5;
const MOST = 20;
const LONGEST_TITLE = 200;
const LONGEST_SNIPPET = 500;
const LONGEST_URL = 1_000;
const MOST_BYTES = 1_000_000;
const TIMEOUT_MS = 20_000;
const SETTINGS = 'tools.web.searchProvider, tools.web.searchApiKey (or tools.web.searchUrl for SearXNG)';

const parameters = z.object({
  query: z.string().trim().min(1).max(400).describe('What to search for, e.g. opening hours louvre monday.'),
  count: z.int().min(1).max(MOST).optional().describe(`Results to return, 1 to ${MOST}. Default: ${DEFAULT_COUNT}.`),
});

/** Searches the web with the service that is configured. What it answers is by strangers. */
export function webSearchTool(options: WebSearchOptions): Tool {
  return defineTool({
    name: 'web_search',
    onlyReads: true,
    source: 'a web search',
    fetches: true,
    description: 'Search the web; returns titles, addresses and short excerpts. To read a page use web_fetch.',
    parameters,
    effect: 'none',
    role: 'guest',
    untrusted: true,
    timeoutMs: 60_000,
    plan: (params, { people, conversation }) => ({
      run: (signal) => search(params, options, { people, signal }),
      reaches: holdsUnsaidNumber(params.query, conversation.said())
        ? { action: { kind: 'search-web' }, title: 'Search the web', detail: params.query }
        : undefined,
      // A search finds addresses that are there; one that it repeats is one that the call held.
      echoes: false,
    }),
  });
}

/** A year or a date is in many queries. */
const DATE = /^(?:19|20)\d\d(?:[-/.]\d\d?){0,2}$/u;

/**
 * Whether a query has a word with a digit that neither a person nor a page said: it may be a number, a code or a password of
 * the owner's, which the words of strangers made the model look for.
 */
function holdsUnsaidNumber(query: string, texts: readonly SaidText[]): boolean {
  const words = query.match(/\S*\d\S*/gu) ?? [];
  const unusual = words.filter((word) => word.length > 2 && !DATE.test(word));
  return unusual.some((word) => !isSaidByOthers(word, texts));
}

async function search(
  { query, count = DEFAULT_COUNT }: z.infer<typeof parameters>,
  settings: WebSearchOptions,
  { people, signal }: Pick<ToolContext, 'people' | 'signal'>,
): Promise<Executed> {
  const title = `searched ${oneLine(query, 80)}`;
  const chosen = choose(settings);
  if (typeof chosen === 'string') return errorResult(title, chosen);
  const { name, url, key } = chosen;
  const provider = SEARCH_PROVIDERS[name];
  people.progress(`searching with ${provider.title}`);
  const { url: address, ...request } = provider.request({ query, count, key, url });
  const answer = await settings.fetch.fetchGuarded(address, {
    ...request,
    signal,
    maxBytes: MOST_BYTES,
    timeoutMs: TIMEOUT_MS,
  });
  if (answer.status !== 200)
    return errorResult(title, refusal(answer, name, provider.title), { status: answer.status });
  const hits = provider.read(new TextDecoder().decode(answer.bytes));
  if (hits === null) return errorResult(title, unreadable(name, provider.title), { provider: name });
  return found(hits, { title, provider: name, count });
}

interface Chosen {
  readonly name: SearchProviderName;
  readonly url: string;
  /** Empty where none is needed. */
  readonly key: string;
}

/** Which service is asked, or a sentence that says what has to be set first. */
function choose({ searchProvider, searchApiKey, searchUrl }: SearchSettings): Chosen | string {
  const name = searchProvider === 'auto' ? automatic(searchApiKey, searchUrl) : searchProvider;
  if (name === null) {
    const names = Object.keys(SEARCH_PROVIDERS).join(', ');
    return `There is a key in tools.web.searchApiKey, but not whose: name it in tools.web.searchProvider (${names}).`;
  }
  const { title, url: usual, needsKey } = SEARCH_PROVIDERS[name];
  const url = searchUrl ?? usual;
  if (url === null) {
    return `${title} needs its address: set tools.web.searchUrl (or ${name.toUpperCase()}_URL in the environment).`;
  }
  if (needsKey && searchApiKey === null) {
    return `${title} needs a key: set tools.web.searchApiKey (or ${name.toUpperCase()}_API_KEY in the environment).`;
  }
  return { name, url, key: searchApiKey ?? '' };
}

/** A key is never sent to a service that it may not be of: null where that is not known. */
function automatic(key: string | null, url: string | null): SearchProviderName | null {
  if (key === null) return url === null ? 'duckduckgo' : 'searxng';
  return key.startsWith('tvly-') ? 'tavily' : null;
}

function found(
  hits: readonly WebHit[],
  { title, provider, count }: { title: string; provider: string; count: number },
): ToolResult {
  const shown = hits.filter(({ url }) => /^https?:\/\//u.test(url) && url.length <= LONGEST_URL).slice(0, count);
  const lines = shown.map(({ title: name, url, snippet }, at) => {
    const parts = [oneLine(name, LONGEST_TITLE), url, oneLine(snippet, LONGEST_SNIPPET)];
    return `${at + 1}. ${parts.filter((part) => part !== '').join('\n   ')}`;
  });
  return {
    title,
    output: shown.length === 0 ? 'Nothing was found.' : lines.join('\n\n'),
    metadata: { provider, found: plural(shown.length, 'result') },
  };
}

const REFUSED = new Set([401, 403]);
/** The last two are Tavily's, for a plan that is used up. */
const USED_UP = new Set([402, 429, 432, 433]);

function refusal({ status }: FetchResult, name: string, title: string): string {
  if (name === 'duckduckgo') return unreadable(name, title);
  if (name === 'searxng' && REFUSED.has(status)) {
    return `${title} refused (status ${status}): its settings must allow the format json (search.formats).`;
  }
  if (REFUSED.has(status)) return `${title} refused the key (status ${status}): check tools.web.searchApiKey.`;
  if (USED_UP.has(status)) {
    return `${title} takes no more searches at the moment (status ${status}): wait, or check the plan there.`;
  }
  return `${title} answered with status ${status}: try again later, or set another search (${SETTINGS}).`;
}

function unreadable(name: string, title: string): string {
  return name === 'duckduckgo'
    ? `${title} gave no page of results (it asks whether you are human, or was changed): try again later, or set a search with a key (${SETTINGS}).`
    : `${title} gave an answer that is not one of a search: try again later, or set another search (${SETTINGS}).`;
}
