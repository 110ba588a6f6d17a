/** A piece of a page, in order. Text is as written, entities and all. */
export type HtmlToken =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'open'; readonly name: string; readonly attributes: string }
  | { readonly type: 'close'; readonly name: string };

/** Their content is not markup; only `title` and `textarea` are text for people. */
const RAW = new Set(['script', 'style', 'title', 'textarea', 'xmp', 'iframe', 'noembed', 'noframes', 'noscript']);

/**
 * Cuts HTML into tags and text in one walk, whatever its nesting, with no tree: for pages that are too large, too deep
 * or too odd for a parser. What never ends (a comment, a quote, a script) swallows the rest, as in browsers.
 */
export function* htmlTokens(html: string): Generator<HtmlToken> {
  let at = 0;
  /** Where the text begins that was not given out yet. */
  let from = 0;
  while (at < html.length) {
    const next = html.indexOf('<', at);
    if (next === -1) break;
    const following = html.charCodeAt(next + 1);
    const isClose = following === SLASH;
    const isDeclaration = following === BANG || following === QUESTION;
    if (!isDeclaration && !isLetter(html.charCodeAt(isClose ? next + 2 : next + 1))) {
      at = next + 1;
      continue;
    }
    if (next > from) yield { type: 'text', text: html.slice(from, next) };
    if (isDeclaration) {
      at = afterDeclaration(html, next);
      from = at;
      continue;
    }
    const tagEnd = endOfTag(html, next + 1);
    if (tagEnd === -1) return;
    const inside = html.slice(isClose ? next + 2 : next + 1, tagEnd);
    const nameEnd = inside.search(/[\s/>]/u);
    const name = (nameEnd === -1 ? inside : inside.slice(0, nameEnd)).toLowerCase();
    at = tagEnd + 1;
    from = at;
    if (isClose) {
      yield { type: 'close', name };
      continue;
    }
    yield { type: 'open', name, attributes: nameEnd === -1 ? '' : inside.slice(nameEnd) };
    if (!RAW.has(name)) continue;
    const closing = new RegExp(`</${name}(?=[\\s/>])`, 'giu');
    closing.lastIndex = at;
    const rawEnd = closing.exec(html)?.index ?? html.length;
    if (rawEnd > at) yield { type: 'text', text: html.slice(at, rawEnd) };
    at = rawEnd;
    from = at;
  }
  if (from < html.length) yield { type: 'text', text: html.slice(from) };
}

/** Elements that have no content and no closing tag. */
export const VOID_ELEMENTS: ReadonlySet<string> = new Set(
  'area base br col embed hr img input link meta param source track wbr'.split(' '),
);

const ATTRIBUTE = /(?<name>[^\s"'<>/=]+)(?:\s*=\s*(?:"(?<double>[^"]*)"|'(?<single>[^']*)'|(?<bare>[^\s"'>]+)))?/gu;

/** The attributes of a tag by lower-case name, values as written; the first of a name counts. */
export function readAttributes(attributes: string): ReadonlyMap<string, string> {
  const read = new Map<string, string>();
  for (const { groups } of attributes.matchAll(ATTRIBUTE)) {
    const name = groups?.['name']?.toLowerCase() ?? '';
    if (!read.has(name)) read.set(name, groups?.['double'] ?? groups?.['single'] ?? groups?.['bare'] ?? '');
  }
  return read;
}

const BANG = 0x21;
const QUESTION = 0x3f;
const SLASH = 0x2f;
const GREATER = 0x3e;
const EQUALS = 0x3d;

function isLetter(code: number): boolean {
  return (code >= 0x41 && code <= 0x5a) || (code >= 0x61 && code <= 0x7a);
}

function afterDeclaration(html: string, at: number): number {
  const isComment = html.startsWith('<!--', at);
  const end = html.indexOf(isComment ? '-->' : '>', isComment ? at + 2 : at);
  return end === -1 ? html.length : end + (isComment ? 3 : 1);
}

/** Where the `>` of a tag is; one inside a quoted value does not count. -1: it never ends. */
function endOfTag(html: string, start: number): number {
  let afterEquals = false;
  for (let i = start; i < html.length; i += 1) {
    const code = html.charCodeAt(i);
    if (code === GREATER) return i;
    if (code === EQUALS) afterEquals = true;
    else if (afterEquals && (code === 0x22 || code === 0x27)) {
      i = html.indexOf(String.fromCharCode(code), i + 1);
      if (i === -1) return -1;
      afterEquals = false;
    } else if (code > 0x20) afterEquals = false;
  }
  return -1;
}
