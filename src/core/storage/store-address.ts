import { type Finding, warning } from '../util/finding.ts';

/** How a connection to PostgreSQL is protected; `unchecked`: by TLS with any certificate. */
export type StoreTls = 'none' | 'unchecked' | 'verified';

/** The setting `store`, read. */
export interface StoreAddress {
  /** For the driver: without what is read here. */
  readonly url: string;
  /** Null: the driver takes that of the environment or of the process. */
  readonly user: string | null;
  /**
   * The name or address of the server, or the folder of its socket; empty: the driver's default, this machine. Several, of a
   * server with standbys, are joined by commas.
   */
  readonly host: string;
  /** Nothing that is sent leaves this machine. */
  readonly isLocal: boolean;
  readonly tls: StoreTls;
  /** Absolute paths; null: not given. A `rootCert` of `system` is null too: the authorities that Node trusts. */
  readonly rootCert: string | null;
  readonly cert: string | null;
  readonly key: string | null;
  readonly keyPassword: string | null;
  /** Whether a login by SCRAM is bound to the certificate of the server, where it offers that. */
  readonly bindsChannel: boolean;
  /** How long a gateway that is gone keeps its homes from the others, ms; undefined: not given. */
  readonly leaseMs: number | undefined;
}

const MODES: Readonly<Record<string, StoreTls>> = {
  disable: 'none',
  'no-verify': 'unchecked',
  // libpq checks less with these two; the driver, and so this, checks as much.
  require: 'verified',
  'verify-ca': 'verified',
  'verify-full': 'verified',
};
const OURS = /^(?:ssl.*|channel_binding|leaseSeconds)$/u;
const PATHS = ['sslrootcert', 'sslcert', 'sslkey'];
const KNOWN = new Set(['sslmode', 'sslpassword', ...PATHS]);
/** What libpq would obey, and the driver would not. */
const UNKNOWN_TO_DRIVER = new Set([
  'target_session_attrs',
  'require_auth',
  'uselibpqcompat',
  'hostaddr',
  'service',
  'passfile',
]);

/** Reads an address of PostgreSQL. Throws an `Error` whose message goes on after "must be": what is expected. */
export function readStoreAddress(address: string): StoreAddress {
  const { base, query } = split(address);
  const params = new URLSearchParams(query.join('&'));
  const url = parsed(base);
  if (url === null)
    throw new Error('an address such as postgres://user@host/database, with / ? # @ in a password as %2F %3F %23 %40');
  const host = params.get('host') ?? url.host;
  const mode = params.get('sslmode');
  const tls = mode === null ? 'none' : MODES[mode];
  if (tls === undefined) throw new Error('an address with sslmode=verify-full, no-verify or disable');
  requireKnown(params, tls);
  const path = (name: string): string | null => params.get(name);
  const seconds = params.get('leaseSeconds');
  const rest = query.filter((one) => !OURS.test(one.split('=', 1)[0] ?? ''));
  return {
    url: rest.length === 0 ? base : `${base}?${rest.join('&')}`,
    user: params.get('user') ?? (url.user === '' ? null : url.user),
    host,
    isLocal: host.split(',').every(isOnThisMachine),
    tls,
    rootCert: path('sslrootcert') === 'system' ? null : path('sslrootcert'),
    cert: path('sslcert'),
    key: path('sslkey'),
    keyPassword: params.get('sslpassword'),
    bindsChannel: params.get('channel_binding') !== 'disable',
    leaseMs: seconds === null ? undefined : Number(seconds) * 1_000,
  };
}

/** What is expected of an address and missing in this one, to be read after "must be"; null: nothing. */
export function storeAddressTrouble(address: string): string | null {
  try {
    readStoreAddress(address);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : 'an address of PostgreSQL';
  }
}

/** That others can read or change what goes to PostgreSQL; null: they cannot, or the address is wrong. */
export function storeAddressFinding(address: string): Finding | null {
  if (storeAddressTrouble(address) !== null) return null;
  const { host, isLocal, tls } = readStoreAddress(address);
  if (isLocal || tls === 'verified') return null;
  const how =
    tls === 'none'
      ? 'without TLS, so everyone on the way can read and change it'
      : 'with sslmode=no-verify, so anyone on the way can pretend to be the server';
  return {
    id: 'database.tls',
    ...warning(
      `The home goes to PostgreSQL at ${host} ${how}.`,
      'Put sslmode=verify-full into the address in store, with sslrootcert=PATH where the server has a certificate authority of its own',
    ),
  };
}

function requireKnown(params: URLSearchParams, tls: StoreTls): void {
  for (const key of params.keys()) {
    if (UNKNOWN_TO_DRIVER.has(key) || (key.startsWith('ssl') && !KNOWN.has(key)))
      throw new Error(`an address without ${key}, which has no effect here`);
  }
  if (!['disable', 'prefer', null].includes(params.get('channel_binding')))
    throw new Error('an address with channel_binding=prefer or disable');
  if (!/^[1-9]\d{0,5}$/u.test(params.get('leaseSeconds') ?? '1'))
    throw new Error('an address whose leaseSeconds is a whole number of at least 1');
  for (const name of PATHS) {
    const path = params.get(name);
    if (path === null || (name === 'sslrootcert' && path === 'system')) continue;
    if (!path.startsWith('/') && !/^[A-Za-z]:[\\/]/u.test(path))
      throw new Error(`an address whose ${name} is an absolute path`);
    if (tls === 'none') throw new Error(`an address with sslmode=verify-full where it has ${name}`);
  }
  if (params.has('sslcert') !== params.has('sslkey'))
    throw new Error('an address with both sslcert and sslkey, or neither');
}

/** The address up to its parameters, and the parameters as they are written. */
function split(address: string): { readonly base: string; readonly query: readonly string[] } {
  const at = address.indexOf('?');
  if (at === -1) return { base: address, query: [] };
  return {
    base: address.slice(0, at),
    query: address
      .slice(at + 1)
      .split('&')
      .filter(Boolean),
  };
}

/** Null: it is no address of PostgreSQL. */
function parsed(base: string): { readonly host: string; readonly user: string } | null {
  const found = /^postgres(?:ql)?:\/\/(?:(?<user>[^@/:?#]*)(?::[^/?#]*)?@)?(?<place>[^@/?#]*)(?:\/[^/?#]*)?$/u.exec(
    base,
  );
  const { user = '', place = '' } = found?.groups ?? {};
  if (found === null || !place.split(',').every((one) => URL.canParse(`postgres://${one === '' ? 'host' : one}/`)))
    return null;
  try {
    const hosts = place.split(',').map((one) => one.replace(/:\d*$/u, '').replace(/^\[(.*)\]$/u, '$1'));
    return { user: decodeURIComponent(user), host: decodeURIComponent(hosts.join(',')) };
  } catch {
    return null;
  }
}

function isOnThisMachine(host: string): boolean {
  return (
    host === '' || host.startsWith('/') || host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/u.test(host)
  );
}
