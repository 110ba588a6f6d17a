import { domainToASCII } from 'node:url';

/** What stands in an address where its host does. */
const IN_ADDRESS = /(?<=:\/\/(?:[^\s/?#"'<>\\@]{0,256}@)?)[^\s/?#"'<>\\@:]{0,256}[^\p{ASCII}][^\s/?#"'<>\\@:]{0,256}/gu;
/** What could be a host without an address around it. */
const WORD =
  /(?<![\p{L}\p{N}\p{M}.-])[\p{L}\p{N}][\p{L}\p{N}\p{M}-]{0,63}(?:[.\u3002\uFF0E\uFF61][\p{L}\p{N}\p{M}-]{1,63}){1,8}/gu;
const LATIN = /\p{Script=Latin}/u;
/** Scripts with letters that look like Latin ones. */
const SIMILAR =
  /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}\p{Script=Coptic}\p{Script=Lisu}]/u;
/** A label of nothing but letters that look like Latin ones, with what belongs to every script. */
const ALL_SIMILAR = /^[аеорсухкмнтвіјѕԁһӏԛԝүѵгпαορυνικτχηωςεabc\d-]+$/u;
/** Latin letters that look like others of the alphabet. */
const SIMILAR_LATIN = /[ıȷɡɑɩʋʀɴʜʙʟꞓſ]/u;

/** The text with the plain form behind each host whose letters look like others: `gіthub.com ⟨xn--gthub-2of.com⟩`. */
export function withMarkedHosts(text: string): string {
  if (/^\p{ASCII}*$/u.test(text)) return text;
  return text
    .replace(IN_ADDRESS, marked)
    .replace(WORD, (host, at: number, whole: string) => (looksLikeAnother(host) ? marked(host, at, whole) : host));
}

function marked(host: string, at: number, text: string): string {
  if (text.startsWith(' ⟨', at + host.length)) return host;
  const plain = domainToASCII(host);
  return plain === host ? host : `${host} ⟨${plain === '' ? 'not a name of a host' : `really ${plain}`}⟩`;
}

function looksLikeAnother(host: string): boolean {
  const labels = host.split(/[.\u3002\uFF0E\uFF61]/u);
  const isLatin = /^\p{ASCII}+$/u.test(labels.at(-1) ?? '');
  return labels.some((label) => {
    if (/^\p{ASCII}*$/u.test(label)) return false;
    if (/^\p{ASCII}*$/u.test(label.normalize('NFKC')) || SIMILAR_LATIN.test(label)) return true;
    return SIMILAR.test(label) && (LATIN.test(label) || (isLatin && ALL_SIMILAR.test(label.toLowerCase())));
  });
}
