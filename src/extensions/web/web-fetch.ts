import * as z from 'zod';
import { AppError, cut, errorCode, type Clock } from '../../core/api.ts';
import {
  defineTool,
  errorResult,
  fetchAction,
  urlOrigin,
  withScheme,
  type FetchResult,
  type GuardedFetch,
  type Planned,
  type ReadApart,
  type Tool,
  type ToolContext,
  type ToolResult,
} from '../../core/api-tools.ts';
import { contentKind, type PageTask, type PageText } from './page.ts';

/** What the tool `web_fetch` needs. */
export interface WebFetchOptions {
  readonly fetch: GuardedFetch;
  readonly clock: Clock;
  /** Longest result, characters; 50,000 at most. */
  readonly maxChars: number;
  readonly read: ReadApart;
}

/** The body of an HTTP response, with what is needed to turn it into text. */
export interface FetchedPage {
  readonly bytes: Uint8Array;
  readonly task: Omit<PageTask, 'simple'>;
}

/** A page as it was found. */
interface FoundPage extends PageText {
  /** Where the last redirect led. */
  readonly url: string;
  readonly status: number;
  readonly mediaType: string;
}

const PAGE_CHARS = 50_000;
const HTML_MS = 5_000;
const OTHER_MS = 10_000;
/** Most characters that are shown of the page of an error. */
const ERROR_CHARS = 2_000;
/** A result ends at a line end if one is within this many characters of the limit. */
const LINE_WITHIN = 1_000;
/** Markdown first: some servers send it if it is asked for. */
const ACCEPT =
  'text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, application/json;q=0.8, text/plain;q=0.8, */*;q=0.5';
const NO_TEXT = '(there is no text on this page; it may be made by scripts in a browser)';

const parameters = z.object({
  url: z.string().trim().min(1).describe('Address of the page, e.g. https://example.org/news.'),
  offset: z.int().min(0).optional().describe('First character of the text to return. Default: 0.'),
});

/**
 * Creates the tool `web_fetch`, which returns web pages as text, fetched from their servers. Its results are untrusted. A
 * page is cached for 15 minutes, so that the parts of a long one fit together.
 */
export function webFetchTool({ fetch, clock, maxChars, read }: WebFetchOptions): Tool {
  const cache = new PageCache(clock);
  const pageChars = Math.min(PAGE_CHARS, maxChars);
  return defineTool({
    name: 'web_fetch',
    fits: 'tiny',
    onlyReads: true,
    source: 'a web page',
    fetches: true,
    description:
      'Fetch a web page or PDF; returns its text as Markdown. It runs no scripts and cannot log in. To find pages use web_search.',
    parameters,
    effect: 'none',
    role: 'guest',
    untrusted: true,
    plan: async ({ url, offset = 0 }, context): Promise<Planned> => {
      const { conversation } = context;
      const address = withScheme(url);
      const checked = await fetch.checkUrl(address);
      if (checked.decision === 'deny') return { denied: checked.reason };
      const asked = withoutFragment(address);
      // The server may send back an address that the model composed.
      const echoes = urlOrigin(address, conversation.said()) === 'composed';
      const page = cache.get(asked);
      // A cached page is shown without a request.
      if (page !== undefined) return { run: async () => show(page, offset, pageChars), echoes };
      return {
        run: async (signal) => {
          // Another call may have fetched it meanwhile.
          const kept = cache.get(asked);
          if (kept !== undefined) return show(kept, offset, pageChars);
          const found = await find(address, { fetch, read, context: { ...context, signal } });
          if ('output' in found) return found;
          if (found.status >= 400) return failure(found);
          cache.put(asked, found);
          return show(found, offset, pageChars);
        },
        reaches: await fetchAction(address, { fetch, conversation }),
        echoes,
      };
    },
  });
}

async function find(
  address: string,
  { fetch, read, context }: Pick<WebFetchOptions, 'fetch' | 'read'> & { readonly context: ToolContext },
): Promise<FoundPage | ToolResult> {
  const { signal, person, people } = context;
  people.progress(titleOf(address).replace('fetched', 'fetching'));
  const answer = await fetch.fetchGuarded(address, { signal, headers: { accept: ACCEPT } });
  const { url, status, headers, bytes } = answer;
  const { kind, mediaType, charset } = contentKind(headers['content-type'], bytes);
  if (kind === 'binary') return binary(answer, mediaType);
  try {
    const page = await pageText({ bytes, task: { kind, charset, url } }, read, { role: person.role, signal });
    return { ...page, cut: page.cut || answer.truncated, url, status, mediaType };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof AppError)) throw error;
    const why = answer.truncated ? `${error.message} It is larger than what is read of a file.` : error.message;
    return errorResult(titleOf(url), why, { url, status, type: mediaType, size: bytes.length });
  }
}

const FACTS = z.object({
  title: z.string().nullable(),
  published: z.string().nullable(),
  hidden: z.int(),
  simple: z.boolean(),
  cut: z.boolean(),
});

/**
 * Parses a page in a child process, so that one which makes the parser hang or use too much memory harms nothing else. HTML
 * that takes too much of either is read once more without a parser. Throws as `ReadApart` does.
 */
export async function pageText(
  { bytes, task }: FetchedPage,
  read: ReadApart,
  options: Pick<Parameters<ReadApart>[0], 'role' | 'signal'>,
): Promise<PageText> {
  const program = new URL('./page-child.ts', import.meta.url);
  const baseMs = task.kind === 'html' ? HTML_MS : OTHER_MS;
  const once = (simple: boolean): Promise<PageText> =>
    read({ program, task: { ...task, simple }, source: { bytes }, facts: FACTS, noun: 'page', baseMs, ...options });
  try {
    return await once(false);
  } catch (error) {
    const isTooMuch = ['document-late', 'document-memory'].includes(errorCode(error) ?? '');
    if (!isTooMuch || task.kind !== 'html') throw error;
    return await once(true);
  }
}

function show(page: FoundPage, offset: number, pageChars: number): ToolResult {
  const { url, text, status, mediaType, hidden, published } = page;
  if (offset > 0 && offset >= text.length) {
    return errorResult(titleOf(url), `It has ${text.length} characters; offset ${offset} is behind its end.`, { url });
  }
  const part = partOf(text, offset, pageChars);
  const next = offset + part.length;
  const left = text.length - next;
  const notes = [
    ...(left > 0 ? [`(${left} more characters; continue with offset ${next})`] : []),
    ...(left === 0 && page.cut ? ['(there is more of it than is read: this is the end of what was read)'] : []),
    ...(offset === 0 && hidden > 0 ? [`(left out: ${hidden} parts that people do not see)`] : []),
  ];
  return {
    title: titleOf(url),
    output: [text === '' ? NO_TEXT : part, ...notes].join('\n\n'),
    metadata: {
      title: page.title,
      url,
      published,
      type: mediaType,
      status,
      characters: text.length,
      ...(offset > 0 ? { offset } : {}),
      simplified: page.simple,
      truncated: left > 0,
    },
  };
}

/** Up to `limit` characters, ending at a line end if one is near. */
function partOf(text: string, offset: number, limit: number): string {
  const part = cut(text.slice(offset, offset + limit + 1), limit);
  if (offset + part.length >= text.length) return part;
  const lineEnd = part.lastIndexOf('\n') + 1;
  return lineEnd > 0 && lineEnd > part.length - LINE_WITHIN ? part.slice(0, lineEnd) : part;
}

function failure({ url, status, text, title, mediaType }: FoundPage): ToolResult {
  const beginning = cut(text, ERROR_CHARS);
  const what = `The server answered with status ${status}.`;
  const output = beginning === '' ? what : `${what} Its page begins:\n\n${beginning}`;
  return errorResult(titleOf(url), output, { title, url, status, type: mediaType });
}

function binary({ url, status, bytes, truncated }: FetchResult, mediaType: string): ToolResult {
  const what = mediaType.startsWith('image/') ? 'an image' : 'not text';
  const size = `${truncated ? 'more than ' : ''}${bytes.length} bytes`;
  const sentence = `This is ${what} (${mediaType}, ${size}), so it is not shown.`;
  const output = status >= 400 ? `The server answered with status ${status}. ${sentence}` : sentence;
  return errorResult(titleOf(url), output, { url, status, type: mediaType, size: bytes.length });
}

function titleOf(url: string): string {
  return `fetched ${URL.canParse(url) ? new URL(url).host : url}`;
}

/** The address under which a page is cached: without the fragment, which is never sent. */
function withoutFragment(url: string): string {
  if (!URL.canParse(url)) return url;
  const address = new URL(url);
  address.hash = '';
  return address.href;
}

const KEPT_MS = 15 * 60_000;
const MOST_PAGES = 50;
const MOST_BYTES = 20_000_000;

/** Pages of the last 15 minutes in memory: at most 50 and 20 MB, the least recently read leave first. */
class PageCache {
  readonly #clock: Clock;
  /** By the addresses that were asked for and the one where the page was found, with the end of its time. */
  readonly #pages = new Map<string, { readonly page: FoundPage; readonly until: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `asked`: the address as it was asked for, or where it was found. */
  get(asked: string): FoundPage | undefined {
    const kept = this.#pages.get(asked);
    if (kept === undefined || kept.until <= this.#clock.monotonic()) return undefined;
    this.#keep(asked, kept);
    return kept.page;
  }

  put(asked: string, page: FoundPage): void {
    const kept = { page, until: this.#clock.monotonic() + KEPT_MS };
    for (const address of new Set([asked, page.url])) this.#keep(address, kept);
    for (const [oldest] of this.#pages) {
      const pages = [...new Set([...this.#pages.values()].map((one) => one.page))];
      const bytes = pages.reduce((sum, { text }) => sum + text.length * 2, 0);
      if (pages.length <= MOST_PAGES && bytes <= MOST_BYTES) break;
      this.#pages.delete(oldest);
    }
  }

  #keep(address: string, kept: { readonly page: FoundPage; readonly until: number }): void {
    this.#pages.delete(address);
    this.#pages.set(address, kept);
  }
}
