import { readHtml } from './html-tokens.ts';

/** One result of a web search, as strangers wrote it. */
export interface WebHit {
  readonly title: string;
  readonly url: string;
  readonly snippet: string;
}

/**
 * Reads DuckDuckGo's page for browsers without scripts: links of class `result__a`, their texts of class
 * `result__snippet`; advertisements are left out. Null: it is not such a page (a question whether one is human, or it
 * was changed).
 */
export function readDuckDuckGo(html: string): readonly WebHit[] | null {
  const hits: { title: string; url: string; snippet: string }[] = [];
  let isKnown = false;
  let field: 'title' | 'snippet' | null = null;
  let element = '';
  readHtml(html, {
    text: (text) => {
      const hit = hits.at(-1);
      if (field !== null && hit !== undefined) hit[field] += text;
    },
    open: (name, attributes) => {
      const classes = new Set((attributes.get('class') ?? '').split(/\s+/u));
      if (classes.has('no-results') || classes.has('result__a')) isKnown = true;
      if (classes.has('result__a')) {
        hits.push({ title: '', url: targetOf(attributes.get('href') ?? ''), snippet: '' });
        field = 'title';
        element = name;
      } else if (classes.has('result__snippet')) {
        field = 'snippet';
        element = name;
      }
    },
    close: (name) => {
      if (name === element) field = null;
    },
  });
  return isKnown ? hits.filter(({ url }) => url !== '') : null;
}

const HOME = 'https://duckduckgo.com/';

/** Behind the address that counts clicks; empty for an advertisement. */
function targetOf(href: string): string {
  if (!URL.canParse(href, HOME)) return '';
  const url = new URL(href, HOME);
  if (!/(?:^|\.)duckduckgo\.com$/u.test(url.hostname)) return url.href;
  const target = url.pathname.startsWith('/l/') ? url.searchParams.get('uddg') : null;
  return target ?? '';
}
