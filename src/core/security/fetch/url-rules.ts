import { canonicalAddress } from './addresses.ts';
import { fetchRefused } from './contract.ts';
import { bareHost, type HostPort } from './host-list.ts';

/** A URL that every parser reads in the same way. */
export interface PlainUrl extends HostPort {
  /** http or https, no userinfo, no fragment; the host has no dot at its end. */
  readonly url: URL;
  readonly isAddress: boolean;
}

const LONGEST_URL = 8_192;
/** Ports of mail, shells, DNS and chat, where an HTTP request could be taken for another protocol. */
const FOREIGN_PORTS = new Set([21, 22, 23, 25, 53, 110, 119, 139, 143, 445, 465, 587, 993, 995, 6667, 6697]);

/**
 * Parses a URL strictly. Throws `fetch-refused` for everything that parsers disagree on or silently change: other
 * schemes, user names, backslashes, white space, control characters, hidden characters or percent signs in the host,
 * and addresses in an unusual spelling (one decimal number, octal, hexadecimal, short, or with Unicode digits).
 */
export function readUrl(text: string): PlainUrl {
  if (text.length > LONGEST_URL) throw refusal(`it is longer than ${LONGEST_URL} characters`);
  if (!text.isWellFormed()) throw refusal('it contains an incomplete character');
  if (/\p{Z}/u.test(text)) throw refusal('it contains white space (write %20 instead)');
  if (/\p{Cc}/u.test(text)) throw refusal('it contains control characters');
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(text)?.[1]?.toLowerCase();
  if (scheme !== 'http' && scheme !== 'https') throw refusal('only http:// and https:// addresses can be fetched');
  const [beforeQuery = ''] = text.split(/[?#]/, 1);
  if (beforeQuery.includes('\\')) throw refusal('it contains a backslash (write %5C instead)');
  const authority = /^https?:\/\/([^/?#]+)/i.exec(text)?.[1];
  if (authority === undefined) throw refusal('it names no host after "//"');
  if (authority.includes('@')) throw refusal('it contains a user name or password before the host');
  if (authority.includes('%')) throw refusal('its host contains a percent sign');
  if (/\p{Cf}/u.test(authority)) throw refusal('its host contains hidden characters');
  if (!URL.canParse(text)) throw refusal('it is not a valid URL');
  return plain(new URL(text), authority);
}

/** Parses the target of a redirect, as strictly except for spaces, which are encoded. Throws `fetch-refused`. */
export function readLocation(location: string, base: URL): PlainUrl {
  const text = location.trim().replaceAll(' ', '%20');
  if (/^[a-z][a-z0-9+.-]*:/i.test(text)) return readUrl(text);
  if (/^[^?#]*\\/.test(text)) throw refusal('it contains a backslash');
  if (text.startsWith('//')) return readUrl(`${base.protocol}${text}`);
  if (/\p{Cc}/u.test(text)) throw refusal('it contains control characters');
  if (!URL.canParse(text, base.href)) throw refusal('it is not a valid URL');
  return readUrl(new URL(text, base).href);
}

function plain(url: URL, authority: string): PlainUrl {
  const host = bareHost(url.hostname);
  const written = authority.replace(/:\d*$/, '');
  const isAddress = canonicalAddress(host) !== undefined;
  if (isAddress && !isUsualSpelling(written, host)) throw refusal('it hides an address behind an unusual spelling');
  if (!isAddress && url.hostname.endsWith('.')) url.hostname = host;
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
  if (port === 0) throw refusal('port 0 cannot be connected to');
  url.hash = '';
  return { url, host, port, isAddress };
}

/** Whether an address is spelled as usual; IPv6 has several usual spellings, IPv4 has one. */
function isUsualSpelling(written: string, host: string): boolean {
  if (!host.includes(':')) return written === host;
  return /^\[[0-9a-f:.]+\]$/i.test(written) && canonicalAddress(written.slice(1, -1)) !== undefined;
}

/** Whether a port belongs to another protocol than HTTP, so that only hosts in `allowHosts` may be asked on it. */
export function isForeignPort(port: number): boolean {
  return FOREIGN_PORTS.has(port);
}

function refusal(why: string): Error {
  return fetchRefused(`This URL was refused: ${why}.`, { why });
}
