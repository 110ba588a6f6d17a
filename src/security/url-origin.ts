/** What may stand before an address in a text. People write no spaces in some scripts. */
const BEFORE = /[\s<>"'`()[\]{}|*_~=,;\u0080-\u{10FFFF}]/u;
/** What may follow it; a mark counts only at the end of a sentence or before a bracket, a quote or the like. */
const AFTER = /^(?:[.,;:!?*_~]{0,10}(?:$|[\s<>"'`()[\]{}|\\^\u0080-\u{10FFFF}])|#)/u;
const MOST_AFTER = 12;
const SCHEME = /^https?:\/\//iu;

/**
 * Whether an address stands word for word in one of the texts. One that is longer, shorter, or written with other
 * escapes is `composed`: what was changed could carry something out. Not counted are the fragment, which is never
 * sent, the slash behind a bare host, and a scheme that people leave out.
 */
export function urlOrigin(url: string, texts: Iterable<string>): 'given' | 'composed' {
  const address = withoutFragment(url.trim());
  const rest = address.replace(SCHEME, '');
  if (rest === '' || rest === address || /\s/u.test(rest)) return 'composed';
  const spellings = [address];
  if (isBareHost(rest)) spellings.push(rest.endsWith('/') ? address.slice(0, -1) : `${address}/`);
  for (const text of texts) {
    if (spellings.some((spelling) => standsIn(text, spelling))) return 'given';
  }
  return 'composed';
}

function withoutFragment(url: string): string {
  const at = url.indexOf('#');
  return at === -1 ? url : url.slice(0, at);
}

function isBareHost(rest: string): boolean {
  return !/[/?#]/u.test(rest.replace(/\/$/u, ''));
}

/** With its scheme, or without it where the text has none there: then its host must look like one. */
function standsIn(text: string, spelling: string): boolean {
  const bare = spelling.replace(SCHEME, '');
  return occurs(text, spelling) || (/^[^/?]+\.[^/?]/u.test(bare) && occurs(text, bare));
}

function occurs(text: string, wanted: string): boolean {
  for (let at = text.indexOf(wanted); at !== -1; at = text.indexOf(wanted, at + 1)) {
    const begins = at === 0 || BEFORE.test(text.charAt(at - 1));
    if (begins && AFTER.test(text.slice(at + wanted.length, at + wanted.length + MOST_AFTER))) return true;
  }
  return false;
}
