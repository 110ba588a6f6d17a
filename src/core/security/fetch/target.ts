import { networkInterfaces } from 'node:os';
import { errorCode } from '../../util/errors.ts';
import { inNetwork, judgeAddress, judgeAnswer, type AddressVerdict } from './addresses.ts';
import { fetchFailed, fetchRefused } from './contract.ts';
import type { HostList } from './host-list.ts';
import { judgeName } from './host-names.ts';
import { isForeignPort, type PlainUrl } from './url-rules.ts';

/** Resolves a name to all of its addresses; rejects or returns none when it has none. */
export type Resolve = (name: string) => Promise<readonly string[]>;

export interface TargetRules {
  readonly allow: HostList;
  readonly deny: HostList;
  readonly resolve: Resolve;
  /** `address/prefix` of each network that this machine is in. */
  readonly ownNetworks: () => readonly string[];
}

/** A permitted URL, and the only addresses that may be connected to for it. */
export interface Target extends PlainUrl {
  readonly addresses: readonly string[];
  /** Whether its host is listed in `allowHosts`. */
  readonly opened: boolean;
}

/** A name with more addresses than this is refused. */
const MOST_ANSWERS = 64;

/** Decides by the text of a URL, without a DNS query, which the owner of the name could see. Throws `fetch-refused`. */
export function judgeTarget(plain: PlainUrl, rules: TargetRules): { readonly opened: boolean } {
  const { host, port, isAddress } = plain;
  if (rules.deny.has(plain)) throw refusal(plain, 'it is on the list of hosts that are never fetched');
  const opened = rules.allow.has(plain);
  if (!opened && isForeignPort(port)) throw refusal(plain, `port ${port} does not belong to the web`);
  if (isAddress) {
    permit(plain, host, { opened, verdict: judgeAddress(host), rules });
    return { opened };
  }
  const name = judgeName(host);
  if (name.kind === 'invalid' || name.kind === 'metadata' || (name.kind === 'internal' && !opened)) {
    throw refusal(plain, `it is ${name.what}${name.kind === 'internal' ? OPENING : ''}`);
  }
  return { opened };
}

/**
 * Decides about a URL and resolves its name once. All of its addresses must be permitted: one private address among
 * public ones refuses the name. Throws `fetch-refused`, or `fetch-failed` (dns).
 */
export async function checkTarget(plain: PlainUrl, rules: TargetRules): Promise<Target> {
  const { host } = plain;
  const { opened } = judgeTarget(plain, rules);
  if (plain.isAddress) return { ...plain, addresses: [host], opened };
  const addresses = [...new Set(await resolveName(host, rules.resolve))];
  if (addresses.length > MOST_ANSWERS) throw refusal(plain, `the name has more than ${MOST_ANSWERS} addresses`);
  for (const address of addresses) permit(plain, address, { opened, verdict: judgeAnswer(address), rules });
  return { ...plain, addresses, opened };
}

const OPENING = '; the owner can allow it in tools.web.allowHosts';

function permit(
  plain: PlainUrl,
  address: string,
  { opened, verdict, rules }: { opened: boolean; verdict: AddressVerdict; rules: TargetRules },
): void {
  const leads = plain.isAddress ? 'it is' : 'its name leads to';
  const never = verdict.kind === 'unusable' || verdict.kind === 'metadata';
  if (never || (verdict.kind === 'private' && !opened)) {
    throw refusal(plain, `${leads} ${verdict.what}${never ? '' : OPENING}`, address);
  }
  if (rules.deny.has({ host: address, port: plain.port })) {
    throw refusal(plain, `${leads} an address that is never fetched`, address);
  }
  if (!opened && rules.ownNetworks().some((network) => inNetwork(address, network))) {
    throw refusal(plain, `${leads} an address in this machine's own network${OPENING}`, address);
  }
}

async function resolveName(host: string, resolve: Resolve): Promise<readonly string[]> {
  let addresses: readonly string[] = [];
  try {
    addresses = await resolve(host);
  } catch (error) {
    const code = errorCode(error);
    const why = code === 'ENOTFOUND' || code === 'ENODATA' ? 'is not known' : 'could not be looked up';
    throw fetchFailed('dns', `The host ${host} ${why}${code === undefined ? '' : ` (${code})`}.`, error);
  }
  if (addresses.length === 0) throw fetchFailed('dns', `The host ${host} has no address.`);
  return addresses;
}

function refusal({ url }: PlainUrl, why: string, address?: string): Error {
  return fetchRefused(`Fetching from ${url.host} was refused: ${why}.`, {
    host: url.host,
    ...(address === undefined ? {} : { address }),
  });
}

/** Resolves with the system's resolver, including the hosts file. */
export async function systemResolve(name: string): Promise<readonly string[]> {
  const { lookup } = await import('node:dns/promises');
  return (await lookup(name, { all: true, order: 'verbatim' })).map(({ address }) => address);
}

/**
 * The networks of this machine's interfaces. They find what no list of private ranges does: neighbours with public IPv6
 * addresses, and this machine under its own public address. Of a network wider than /16 (IPv6: /48) only the own
 * address.
 */
export function systemNetworks(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((addresses) =>
    (addresses ?? []).map(({ address, cidr, family }) => {
      const prefix = Number(cidr?.split('/')[1]);
      const [narrow, single] = family === 'IPv4' ? [16, 32] : [48, 128];
      return `${address.split('%')[0]}/${prefix >= narrow ? prefix : single}`;
    }),
  );
}
