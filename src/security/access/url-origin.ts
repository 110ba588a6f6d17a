/** What may stand before an address in a text. People write no spaces in some scripts. */
const BEFORE = /[\s<>"'`()[\]{}|*_~=,;\u0080-\u{10FFFF}]/u;
/** What may follow it; a mark counts only at the end of a sentence or before a bracket, a quote or the like. */
const AFTER = /^(?:[.,;:!?*_~]{0,10}(?:$|[\s<>"'`()[\]{}|\\^\u0080-\u{10FFFF}])|#)/u;
const MOST_AFTER = 12;
const SCHEME = /^https?:\/\//iu;

/** What was said, other than by the model; a plain text is a person's words. */
export type GivenText =
  | string
  | {
      readonly text: string;
      /** Strangers wrote it. */
      readonly strangers: boolean;
      /** What the model said before it: an address that stands there is not given by a text that repeats it. */
      readonly repeats: readonly string[];
    };

/** `given`: by a person, or by what strangers had no part in; `strangers`: only they gave it; `composed`: nobody did. */
export type UrlOrigin = 'given' | 'strangers' | 'composed';

/**
 * Whether an address stands word for word in one of the texts, and in whose. One that is longer, shorter, or written with other
 * escapes is `composed`: what was changed could carry something out. Not counted are the fragment, which is never
 * sent, the slash behind a bare host, and a scheme that people leave out.
 */
export function urlOrigin(url: string, texts: Iterable<GivenText>): UrlOrigin {
  const address = withoutFragment(url.trim());
  const rest = address.replace(SCHEME, '');
  if (rest === '' || rest === address || /\s/u.test(rest)) return 'composed';
  const spellings = [address];
  if (isBareHost(rest)) spellings.push(rest.endsWith('/') ? address.slice(0, -1) : `${address}/`);
  const spoken = (isBareHost(rest) ? rest.replace(/\/$/u, '') : rest).toLowerCase();
  let origin: UrlOrigin = 'composed';
  for (const given of texts) {
    const { text, strangers, repeats } = typeof given === 'string' ? personal(given) : given;
    if (strangers && origin === 'strangers') continue;
    if (!spellings.some((spelling) => standsIn(text, spelling))) continue;
    // A part of something longer counts too: a refusal names the host of an address.
    if (repeats.some((said) => said.toLowerCase().includes(spoken))) continue;
    if (!strangers) return 'given';
    origin = 'strangers';
  }
  return origin;
}

function personal(text: string): Exclude<GivenText, string> {
  return { text, strangers: false, repeats: [] };
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
