import { isIP } from 'node:net';
import { urlOrigin, type GivenText } from './url-origin.ts';
import type { GuardedFetch } from '../fetch/fetch.ts';
import type { CallConversation, DeclaredAction, EarlierFetch } from '../../tools/tool.ts';

/** How many addresses of one site that only untrusted content names are fetched without a question; each yes allows as many more. */
const FREE = 3;

/** Longest second-level label under which countries register names, as `co` in `co.uk`. */
const SHORT = 3;

/** What fetching this address does, as far as taint may forbid it. The address has a scheme. */
export async function fetchAction(
  address: string,
  { fetch, conversation }: { readonly fetch: Pick<GuardedFetch, 'checkUrl'>; readonly conversation: CallConversation },
): Promise<DeclaredAction> {
  const texts = conversation.given();
  const composed = urlOrigin(address, texts) === 'composed';
  const selected = isOneOfMany(address, texts, conversation.fetches());
  const checked = composed || selected ? await fetch.checkUrl(address) : undefined;
  const hostAllowed = checked?.decision === 'allow' && checked.opened;
  return {
    action: { kind: 'fetch-url', composed, hostAllowed, selected },
    title: 'Fetch a web page',
    detail: checked?.decision === 'allow' ? checked.url : address,
  };
}

/** Adds `https://` to an address without a scheme. */
export function withScheme(url: string): string {
  return /^[a-z][a-z0-9+.-]*:(?!\d)/iu.test(url) ? url : `https://${url.replace(/^\/\//u, '')}`;
}

/**
 * Whether an address is one of too many addresses of one site that only untrusted content names: the choice among them could
 * spell out a secret to that site. Subdomains count as one site, because one owner may have them all.
 */
export function isOneOfMany(address: string, texts: readonly GivenText[], earlier: readonly EarlierFetch[]): boolean {
  if (urlOrigin(address, texts) !== 'untrusted') return false;
  const site = siteOf(address);
  const same = earlier.filter(({ url }) => siteOf(url) === site && urlOrigin(url, texts) === 'untrusted');
  const asked = new Set(same.map(({ once }) => once));
  return asked.size >= FREE * (1 + same.filter(({ approved }) => approved).length);
}

/** The registered domain of an address, by a rule of thumb; of an address without a name its host. */
export function siteOf(url: string): string {
  const address = /^https?:\/\//iu.test(url) ? url : `https://${url.replace(/^\/\//u, '')}`;
  if (!URL.canParse(address)) return url;
  const host = new URL(address).hostname.replace(/\.$/u, '');
  if (isIP(host) !== 0 || host.startsWith('[')) return host;
  const parts = host.split('.');
  const [top = '', second = ''] = parts.toReversed();
  return parts.slice(top.length === 2 && second.length <= SHORT ? -3 : -2).join('.');
}
