import { domainToUnicode } from 'node:url';

/** A text of a conversation that may name addresses, or repeat them. */
export interface SaidText {
  /** `outside`: somebody below the turn's role, or a page or search that was fetched. */
  readonly author: 'person' | 'outside' | 'model';
  readonly text: string;
}

/**
 * `given`: a person named the URL. `outside`: only others named it, and the model hadn't said it before them. `composed`: the
 * model made it, or nobody named it.
 */
export type UrlOrigin = 'given' | 'outside' | 'composed';

/**
 * Finds out who named a URL in a conversation. `texts`: oldest first.
 *
 * A text names a URL if it contains it, up to what changes nothing in the request: the fragment, the slash after a bare host,
 * how the host is spelled, and a scheme that people left out. Any other difference could carry private text out. A page that
 * contains what the model said before doesn't name it, however either of them spells it.
 */
export function urlOrigin(url: string, texts: Iterable<SaidText>): UrlOrigin {
  const address = url.trim().replace(/#.*$/su, '');
  const pattern = patternOf(address);
  if (pattern === null) return 'composed';
  const wanted = fold(address.replace(SCHEME, ''));
  let origin: UrlOrigin = 'composed';
  /** Whose text was the first that holds it in any spelling. */
  let first: SaidText['author'] | undefined;
  for (const said of texts) {
    const { author, text } = said;
    if (!folded(said).includes(wanted)) continue;
    first ??= author;
    if (author === 'model' || (first === 'model' && author === 'outside')) continue;
    if (!pattern.test(text) && !pattern.test(shown(text))) continue;
    if (author === 'person') return 'given';
    origin = 'outside';
  }
  return origin;
}

/** Whether a person or a page said this before the model did, in any spelling. */
export function isSaidByOthers(words: string, texts: Iterable<SaidText>): boolean {
  const wanted = fold(words);
  for (const said of texts) if (folded(said).includes(wanted)) return said.author !== 'model';
  return false;
}

const SCHEME = /^https?:\/\//iu;
const PARTS = /^(?<scheme>https?):\/\/(?<host>[^/?\\]+)(?<rest>\S*)$/iu;
/** What may be before a URL in a text; some scripts have no spaces. */
const BEFORE = String.raw`(?<=^|[\s<>"'\x60\(\)\[\]\{\}\|*_~=,;\u0080-\u{10FFFF}])`;
/** What may follow a URL; punctuation only before the end, a space, a bracket or a quote. */
const AFTER = String.raw`(?=[.,;:!?*_~]{0,10}(?:$|[\s<>"'\x60\(\)\[\]\{\}\|\\\^\u0080-\u{10FFFF}])|#)`;

/** Matches the spellings of an address that send the same request; null: it is no web address. */
function patternOf(address: string): RegExp | null {
  const { scheme = '', host = '', rest = '' } = PARTS.exec(address)?.groups ?? {};
  if (host === '' || /\s/u.test(rest) || !URL.canParse(address)) return null;
  const url = new URL(address);
  // A name and a password before the host are compared letter by letter.
  const hosts = host.includes('@')
    ? RegExp.escape(host)
    : `(?i:${anyOf([host, url.host, url.host.replace(url.hostname, domainToUnicode(url.hostname))])})`;
  const path = url.href.replace(/^https?:\/\/[^/]+/u, '');
  const rests = path === '/' ? '/?' : anyOf([rest, path, ...unescaped(path, url)]);
  const prefix = /.\../u.test(host) ? `(?i:${scheme}://)?` : `(?i:${scheme}://)`;
  return new RegExp(`${BEFORE}${prefix}${hosts}${rests}${AFTER}`, 'u');
}

function anyOf(spellings: readonly string[]): string {
  const all = [...new Set(spellings)].filter((one) => one !== '');
  return `(?:${all.map((one) => RegExp.escape(one)).join('|')})`;
}

/** The path as people read it, if a browser escapes it the same way. */
function unescaped(path: string, { origin }: URL): readonly string[] {
  try {
    const plain = decodeURI(path);
    return new URL(origin + plain).href === new URL(origin + path).href ? [plain] : [];
  } catch {
    return [];
  }
}

/** A text as it is shown: without invisible characters and the backslashes of Markdown. */
function shown(text: string): string {
  return text.replace(/\p{Cf}/gu, '').replace(/\\(?=[!-/:-@[-`{-~])/gu, '');
}

const FOLDED = new WeakMap<SaidText, string>();

function folded(said: SaidText): string {
  const known = FOLDED.get(said) ?? fold(said.text);
  FOLDED.set(said, known);
  return known;
}

/** Its letters and digits alone, as one could read them out of Markdown, escapes, other scripts' letters and any case. */
function fold(text: string): string {
  let plain = text;
  for (let depth = 0; depth < 3; depth += 1) {
    const before = plain;
    plain = plain
      .replace(/(?:%[\da-f]{2})+/giu, (bytes) => Buffer.from(bytes.replaceAll('%', ''), 'hex').toString())
      .replace(/&#x([\da-f]{1,6});?|\\x([\da-f]{2})|\\u([\da-f]{4})|\\u\{([\da-f]{1,6})\}/giu, (...codes) =>
        letter(Number.parseInt(String(codes.slice(1, 5).find((code) => code !== undefined)), 16)),
      )
      .replace(/&#(\d{1,7});?/gu, (_, code: string) => letter(Number(code)))
      .replace(/&(?:amp|lt|gt|quot|nbsp|shy|zwn?j);/giu, '');
    if (plain === before) break;
  }
  return plain
    .normalize('NFKC')
    .toLowerCase()
    .replace(/xn--[a-z\d-]+/gu, (name) => domainToUnicode(name))
    .replace(/[^\p{L}\p{N}]/gu, '');
}

function letter(code: number): string {
  return code > 0x10_ff_ff ? '' : String.fromCodePoint(code);
}
