import { isIP } from 'node:net';
import { urlOrigin, type GivenText } from '../../security/url-origin.ts';
import type { EarlierFetch } from '../tool.ts';

/** Addresses of one site that strangers may choose among freely; each yes lets as many more. */
const FREE = 3;
/** Second parts of names under which countries give names out: `co.uk`. */
const SHORT = 3;

/**
 * Whether an address is one of many of one site that strangers alone gave: which of them is fetched, one after the other,
 * could spell something out. Names below one another are one site, since one owner may have them all.
 */
export function isOneOfMany(address: string, texts: readonly GivenText[], earlier: readonly EarlierFetch[]): boolean {
  if (urlOrigin(address, texts) !== 'strangers') return false;
  const site = siteOf(address);
  const same = earlier.filter(({ url }) => siteOf(url) === site && urlOrigin(url, texts) === 'strangers');
  const asked = new Set(same.map(({ once }) => once));
  return asked.size >= FREE * (1 + same.filter(({ approved }) => approved).length);
}

function siteOf(url: string): string {
  const address = /^https?:\/\//iu.test(url) ? url : `https://${url.replace(/^\/\//u, '')}`;
  if (!URL.canParse(address)) return url;
  const host = new URL(address).hostname.replace(/\.$/u, '');
  if (isIP(host) !== 0 || host.startsWith('[')) return host;
  const parts = host.split('.');
  const [top = '', second = ''] = parts.toReversed();
  return parts.slice(top.length === 2 && second.length <= SHORT ? -3 : -2).join('.');
}
