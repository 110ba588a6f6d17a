import { decodeHTML } from 'entities';
import type { PageText } from './page.ts';

/** Comments, programs, drawings and controls to their ends, also where these are missing; and every other tag. */
const TAGS =
  /<!--[\s\S]*?(?:-->|$)|<(title|script|style|noscript|template|iframe|svg|textarea|select)(?=[\s/>])[\s\S]*?(?:<\/\1\s*>|$)|<(\/?)([a-z][^\s/<>"']*)((?:[^<>"']+|"[^"]*"|'[^']*')*)>?|<[/!?](?:[^<>"']+|"[^"]*"|'[^']*')*>?/giu;
const ATTRIBUTES = /([^\s"'/=]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"']+)))?/gu;
/** Tags within a line. */
const INLINE = new Set('a abbr b code em font i mark small span strong sub sup u'.split(' '));
const VOID = new Set('area base br col embed hr img input link meta param source track wbr'.split(' '));
/** A second one of these ends the first. */
const SELF_ENDING = new Set('a p li dt dd tr td th option'.split(' '));
/** How far up an end tag looks for what it ends; deeper it ends nothing. */
const LOOKS_UP = 64;

/** The bare text of a page without what people do not see, in time that grows with its length alone. */
export function stripped(html: string): PageText {
  const open: string[] = [];
  /** How many are open with the hidden element; infinite: everything is shown. */
  let hiddenFrom = Infinity;
  let hidden = 0;
  let text = '';
  let at = 0;
  for (const { 0: tag, 2: slash, 3: word = '', 4: attributes = '', index } of html.matchAll(TAGS)) {
    const name = word.toLowerCase();
    if (hiddenFrom === Infinity) text += html.slice(at, index) + (INLINE.has(name) ? '' : '\n');
    at = index + tag.length;
    if (slash === '/') {
      const up = open.slice(-LOOKS_UP).lastIndexOf(name);
      if (up !== -1) open.length = Math.max(0, open.length - LOOKS_UP) + up;
    } else if (SELF_ENDING.has(name) && open.at(-1) === name) open.pop();
    if (open.length < hiddenFrom) hiddenFrom = Infinity;
    if (slash !== '' || VOID.has(name)) continue;
    open.push(name);
    if (hiddenFrom === Infinity && saysHidden(attributes)) {
      hiddenFrom = open.length;
      hidden += 1;
    }
  }
  if (hiddenFrom === Infinity) text += html.slice(at);
  const title = /<title[^<>]{0,1000}>(?<title>[^<]*)/iu.exec(html)?.groups?.['title'] ?? '';
  return {
    title: decodeHTML(title).trim() || null,
    text: decodeHTML(text),
    published: null,
    hidden,
    simple: true,
    cut: false,
  };
}

function saysHidden(attributes: string): boolean {
  if (!/hidden|style/iu.test(attributes)) return false;
  const values = new Map<string, string>();
  for (const [, name = '', ...written] of attributes.matchAll(ATTRIBUTES)) {
    const key = name.toLowerCase();
    if (!values.has(key)) values.set(key, decodeHTML(written.find((value) => value !== undefined) ?? ''));
  }
  return isHidden((name) => values.get(name) ?? null);
}

const HIDING =
  /(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|font-size\s*:\s*0(?:px|em|rem|pt|%)?\s*(?:!|;|$)|content-visibility\s*:\s*hidden)/iu;

/**
 * Whether an element says of itself that people do not see it, or that it is not for those who are read to. What a
 * style sheet hides is not known; almost transparent is how many pages begin before their scripts run, so it counts as
 * seen.
 */
export function isHidden(attribute: (name: string) => string | null): boolean {
  if (attribute('hidden') !== null) return true;
  if (attribute('aria-hidden')?.trim().toLowerCase() === 'true') return true;
  return HIDING.test(attribute('style') ?? '');
}
