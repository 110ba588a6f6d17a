import { isIP } from 'node:net';
import { urlOrigin } from './url-origin.ts';
import type { GuardedFetch } from '../fetch/fetch.ts';
import type { CallConversation, DeclaredAction } from '../../tools/tool.ts';

/** Longest second-level label under which countries register names, as `co` in `co.uk`. */
const SHORT = 3;

interface Asking {
  readonly fetch: Pick<GuardedFetch, 'checkUrl'>;
  readonly conversation: CallConversation;
}

/** What fetching this address does, as far as taint may forbid it. The address has a scheme. */
export async function fetchAction(address: string, { fetch, conversation }: Asking): Promise<DeclaredAction> {
  const { taint, said } = conversation;
  const origin = urlOrigin(address, said());
  const checked = origin === 'given' ? undefined : await fetch.checkUrl(address);
  const hostAllowed = checked?.decision === 'allow' && checked.opened;
  return {
    action: {
      kind: 'fetch-url',
      composed: origin === 'composed',
      hostAllowed,
      selected:
        taint.untrusted &&
        taint.private &&
        origin === 'outside' &&
        !hostAllowed &&
        !(await conversation.takeFreeChoice()),
    },
    title: 'Fetch a web page',
    detail: checked?.decision === 'allow' ? checked.url : address,
    joins: 'Fetch web pages',
  };
}

/** The action of choosing something on the page at this address. A choice tells the site as much as a fetch does. */
export async function choiceAction(page: string, { fetch, conversation }: Asking): Promise<DeclaredAction['action']> {
  const { taint } = conversation;
  if (!taint.untrusted || !taint.private) return { kind: 'other' };
  const checked = await fetch.checkUrl(page);
  const hostAllowed = checked.decision === 'allow' && checked.opened;
  const selected = !hostAllowed && !(await conversation.takeFreeChoice());
  return { kind: 'fetch-url', composed: false, hostAllowed, selected };
}

/** Adds `https://` to an address without a scheme. */
export function withScheme(url: string): string {
  return /^[a-z][a-z0-9+.-]*:(?!\d)/iu.test(url) ? url : `https://${url.replace(/^\/\//u, '')}`;
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
