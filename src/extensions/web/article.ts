import { isProbablyReaderable, Readability } from '@mozilla/readability';
import { parseHTML } from 'linkedom/worker';
import TurndownService from 'turndown';
import type { PageText } from './page.ts';
import { isHidden } from './stripped.ts';

/** What is used of an element; the compiler knows no DOM here. */
interface Element {
  readonly nodeName: string;
  readonly textContent: string | null;
  readonly parentNode: Element | null;
  readonly firstElementChild: Element | null;
  readonly previousElementSibling: Element | null;
  getAttribute(name: string): string | null;
  querySelector(selector: string): Element | null;
  querySelectorAll(selector: string): Iterable<Element>;
  remove(): void;
}

interface Page extends Element {
  readonly documentElement: Element | null;
}

/** Never read: programs, drawings, controls. */
const SKIPPED =
  'script, style, noscript, template, iframe, svg, canvas, object, embed, noembed, noframes, select, button, input, textarea, datalist';
/** Around the content of a page that is not an article. */
const FURNITURE =
  'nav, footer, aside, [role="navigation"], [role="banner"], [role="contentinfo"], [role="search"], [role="complementary"]';
/** An article that holds less of the page's text is taken for a mistake. */
const LEAST_SHARE = 0.2;
const LEAST_ARTICLE = 250;
/** Below this much text the rest is furniture, above it the page stands without it. */
const LEAST_WITHOUT_FURNITURE = 200;

/**
 * A page as Markdown: the article where it is one, else the page without what stands around. Throws on pages that are
 * too deep; slow on pages with very many elements.
 */
export function articleMarkdown(html: string, url: string): PageText {
  const first = openPage(html, url);
  const { title, published, base, hidden } = first;
  const article = readArticle(first.page);
  // The reader takes a page apart: without an article it is opened anew.
  const content = article ?? withoutFurniture(openPage(html, url).page);
  return { title, text: toMarkdown(content, base), published, hidden, simple: false, cut: false };
}

function openPage(html: string, url: string) {
  // The parser adds no elements that are missing, and a page without a body counts as empty.
  const { document } = parseHTML(/<body[\s>]/iu.test(html) ? html : `<html><body>${html}</body></html>`);
  const page = document as unknown as Page;
  const meta = (selector: string): string => oneSpace(page.querySelector(selector)?.getAttribute('content') ?? '');
  const published = meta('meta[property="article:published_time"], meta[itemprop="datePublished"], meta[name="date"]');
  for (const element of page.querySelectorAll(SKIPPED)) element.remove();
  const titles = [...page.querySelectorAll('title')];
  const title = oneSpace(titles[0]?.textContent ?? '') || meta('meta[property="og:title"]');
  for (const element of titles) element.remove();
  const base = baseOf(url, page.querySelector('base[href]')?.getAttribute('href') ?? undefined);
  const hiding = [...page.querySelectorAll('[hidden], [aria-hidden], [style]')].filter((element) =>
    isHidden((name) => element.getAttribute(name)),
  );
  for (const element of hiding) element.remove();
  return { page, title: title || null, published: published || null, base, hidden: hiding.length };
}

function readArticle(page: Page): Element | undefined {
  const document = page as never;
  if (!isProbablyReaderable(document)) return undefined;
  const whole = lengthOf(page.querySelector('body') ?? page);
  const article = new Readability<Element>(document, { serializer: (node: unknown) => node as Element }).parse();
  const content = article?.content;
  if (content === null || content === undefined) return undefined;
  const length = lengthOf(content);
  return length >= LEAST_ARTICLE && length >= whole * LEAST_SHARE ? content : undefined;
}

function withoutFurniture(page: Page): Element {
  const body = page.querySelector('body') ?? page.documentElement ?? page;
  const main = page.querySelector('main, [role="main"]');
  if (main !== null && lengthOf(main) >= Math.max(LEAST_WITHOUT_FURNITURE, lengthOf(body) * LEAST_SHARE)) return main;
  const furniture = [...body.querySelectorAll(FURNITURE)];
  const around = furniture.reduce((sum, element) => sum + lengthOf(element), 0);
  if (lengthOf(body) - around >= LEAST_WITHOUT_FURNITURE) for (const element of furniture) element.remove();
  return body;
}

function toMarkdown(content: Element, base: string): string {
  const service = new TurndownService({
    headingStyle: 'atx',
    hr: '---',
    bulletListMarker: '-',
    codeBlockStyle: 'fenced',
    emDelimiter: '*',
    br: '',
  });
  // Backslashes before marks are for programs that draw Markdown; here it is read.
  service.escape = (text) => text;
  service.addRule('link', {
    filter: 'a' as never,
    replacement: (text, node) => markdownLink(text, asElement(node), base),
  });
  service.addRule('image', {
    filter: 'img' as never,
    replacement: (_text, node) => markdownImage(asElement(node), base),
  });
  service.addRule('item', { filter: 'li' as never, replacement: (text, node) => item(text, asElement(node)) });
  service.addRule('cell', {
    filter: ['td', 'th'] as never,
    replacement: (text, node) => {
      const first = asElement(node).previousElementSibling === null;
      return `${first ? '| ' : ' '}${text.replace(/\s+/gu, ' ').trim()} |`;
    },
  });
  service.addRule('row', { filter: 'tr' as never, replacement: (text, node) => row(text, asElement(node)) });
  service.addRule('rows', { filter: ['thead', 'tbody', 'tfoot'] as never, replacement: (text) => text });
  service.addRule('table', {
    filter: 'table' as never,
    replacement: (text) => `\n\n${text.replace(/\n{2,}/gu, '\n').trim()}\n\n`,
  });
  return service.turndown(content);
}

/** An item of a list, with its number where it has one; what is in it is indented. */
function item(text: string, element: Element): string {
  const mark = element.parentNode?.nodeName === 'OL' ? `${placeOf(element, element.parentNode)}. ` : '- ';
  return `${mark}${text.trim().replaceAll('\n', `\n${' '.repeat(mark.length)}`)}\n`;
}

function placeOf(element: Element, list: Element): number {
  const start = Number(list.getAttribute('start') ?? 1);
  let place = Number.isSafeInteger(start) ? start : 1;
  for (let before = element.previousElementSibling; before !== null; before = before.previousElementSibling) place += 1;
  return place;
}

/** Below a row of headings stands the line that makes it a table. */
function row(text: string, element: Element): string {
  const cells = [...element.querySelectorAll('td, th')];
  const isHead = cells.length > 0 && cells.every(({ nodeName }) => nodeName === 'TH');
  return isHead ? `\n${text}\n|${' --- |'.repeat(cells.length)}` : `\n${text}`;
}

/** Longest address that a page's text carries; a page could be made of nothing else. */
const LONGEST = 2_000;
const SHOWN = new Set(['http:', 'https:', 'mailto:', 'tel:']);

/** What relative addresses of a page start from: its own, or what its `base` says where that is of the web. */
function baseOf(page: string, href = ''): string {
  if (!URL.canParse(href.trim(), page)) return page;
  const base = new URL(href.trim(), page);
  return /^https?:$/u.test(base.protocol) && base.href.length <= LONGEST ? base.href : page;
}

/** Where a link leads, in full; undefined for one that runs or holds something, or leads to its own page. */
function linkTarget(href: string | null, base: string): string | undefined {
  const written = href?.trim() ?? '';
  if (written === '' || written.startsWith('#') || written.length > LONGEST || !URL.canParse(written, base)) {
    return undefined;
  }
  const url = new URL(written, base);
  if (!SHOWN.has(url.protocol) || url.href.length > LONGEST) return undefined;
  // Marks that end a Markdown link.
  return url.href.replaceAll('(', '%28').replaceAll(')', '%29');
}

/** A link as Markdown, on one line; its text alone where it leads nowhere. */
function markdownLink(text: string, element: Element, base: string): string {
  const target = linkTarget(element.getAttribute('href'), base);
  const label = oneSpace(text);
  return target === undefined || label === '' ? text : `[${label}](${target})`;
}

/** An image as Markdown, if it says what it shows. */
function markdownImage(element: Element, base: string): string {
  const label = oneSpace(element.getAttribute('alt') ?? '');
  if (label === '') return '';
  const target = linkTarget(element.getAttribute('src'), base);
  return target?.startsWith('http') === true ? `![${label}](${target})` : `[image: ${label}]`;
}

/** turndown names a type of the browser. */
function asElement(node: unknown): Element {
  return node as Element;
}

function lengthOf(element: Element): number {
  return oneSpace(element.textContent ?? '').length;
}

function oneSpace(text: string): string {
  return text.replace(/\s+/gu, ' ').trim();
}
