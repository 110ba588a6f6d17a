/** Characters that may be before a URL in a text; some scripts have no spaces. */
const BEFORE = /[\s<>"'`()[\]{}|*_~=,;\u0080-\u{10FFFF}]/u;
/** What may follow a URL; punctuation only before the end, a space, a bracket or a quote. */
const AFTER = /^(?:[.,;:!?*_~]{0,10}(?:$|[\s<>"'`()[\]{}|\\^\u0080-\u{10FFFF}])|#)/u;
const MOST_AFTER = 12;
const SCHEME = /^https?:\/\//iu;

/** A text that the model did not write; a plain string was written by a person. */
export type GivenText =
  | string
  | {
      readonly text: string;
      /** It is untrusted content. */
      readonly untrusted: boolean;
      /** It is private to the owner, such as a file. @default false */
      readonly private?: boolean;
      /**
       * What the model wrote before it. A URL that occurs there does not count as given by this text, which may repeat
       * it.
       */
      readonly repeats: readonly string[];
    };

/**
 * `given`: a person or a trusted text named the URL. `untrusted`: only untrusted content named it. `composed`: no text
 * did.
 */
export type UrlOrigin = 'given' | 'untrusted' | 'composed';

/**
 * Finds out whose text contains a URL word for word. A URL that is longer, shorter or escaped differently is
 * `composed`, because the difference could carry private text out. Ignored are the fragment, which is never sent, the
 * slash after a bare host, and a scheme that people left out.
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
    const { text, untrusted, repeats } = typeof given === 'string' ? personal(given) : given;
    if (untrusted && origin === 'untrusted') continue;
    if (!spellings.some((spelling) => standsIn(text, spelling))) continue;
    // Counts also as a part of a longer text: a refusal names the host of a URL.
    if (repeats.some((said) => said.toLowerCase().includes(spoken))) continue;
    if (!untrusted) return 'given';
    origin = 'untrusted';
  }
  return origin;
}

function personal(text: string): Exclude<GivenText, string> {
  return { text, untrusted: false, repeats: [] };
}

function withoutFragment(url: string): string {
  const at = url.indexOf('#');
  return at === -1 ? url : url.slice(0, at);
}

function isBareHost(rest: string): boolean {
  return !/[/?#]/u.test(rest.replace(/\/$/u, ''));
}

/** Whether a text contains a URL, with its scheme, or without it if the host has a dot. */
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
