import type { StoreAddress } from '../../core/storage/store-address.ts';
import { DeadlineError } from '../../core/util/clock.ts';
import { AppError, errorCode, errorMessage } from '../../core/util/errors.ts';

/**
 * SQLSTATEs of a server that cannot serve now: connection, resources, intervention of an operator, system, not yet up, a standby
 * (25006: it only reads), a lock that is held for too long.
 */
const NOT_NOW = /^(?:08|53|57|58|25006|25P0[34]|40|55P03)/u;
/** Of these, those that say nothing about the server. */
const STILL_PRIMARY = /^(?:40|53|55P03)/u;
/** SQLSTATE of a right that is missing. */
export const NO_RIGHT = '42501';
const NO_LOGIN = '28000';
const RIGHTS = 'SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA assistant';

/** Whether the server answered, and means the statement and not the moment. */
export function isRefusal(error: unknown): boolean {
  const code = errorCode(error);
  return code !== undefined && /^[0-9A-Z]{5}$/u.test(code) && !/^E[A-Z]{4}$/u.test(code) && !NOT_NOW.test(code);
}

/** Whether a server failed in a way that says nothing against its being the primary. */
export function isStillPrimary(error: unknown): boolean {
  return isRefusal(error) || STILL_PRIMARY.test(errorCode(error) ?? '');
}

/** What is wrong with a connection, in words that say what to do where that is known. */
export function storeTrouble(error: unknown, address: StoreAddress): string {
  if (error instanceof DeadlineError) return `no answer within ${error.ms / 1000} s`;
  return tlsTrouble(error, address) ?? errorMessage(error);
}

/**
 * The failure of a call of PostgreSQL: `store-unreachable` when nothing is known of its effect, `store-refused` with the
 * server's SQLSTATE in `facts.sqlState` when the server said no. What a person can do about TLS and rights is said.
 */
export function storeFailure(error: unknown, address: StoreAddress): AppError {
  if (error instanceof AppError && error.code === 'store-tls') return error;
  const said = errorMessage(error);
  // Not as a cause: a code of the network would be taken for one of the disk here.
  if (!isRefusal(error)) {
    const why = storeTrouble(error, address);
    return new AppError('store-unreachable', `PostgreSQL cannot be reached: ${why}`, { facts: { said: why } });
  }
  const code = errorCode(error);
  const remedy = remedyOf(code, said, address);
  const words = `${said}${remedy === undefined ? '' : `. ${remedy}`}`;
  return new AppError('store-refused', `PostgreSQL refused: ${words}`, { facts: { sqlState: code, said: words } });
}

/** The words of the server or the network in a failure, without ours in front. */
export function saidIn(error: AppError): string {
  return typeof error.facts['said'] === 'string' ? error.facts['said'] : error.message;
}

/** The SQLSTATE of a `store-refused`; undefined for anything else. */
export function sqlStateOf(error: unknown): string | undefined {
  if (!(error instanceof AppError) || error.code !== 'store-refused') return undefined;
  return typeof error.facts['sqlState'] === 'string' ? error.facts['sqlState'] : undefined;
}

function remedyOf(code: string | undefined, said: string, { user }: StoreAddress): string | undefined {
  if (code === NO_LOGIN && said.includes('no encryption'))
    return 'It takes no connection from here without TLS: put sslmode=verify-full into the address in store';
  if (code === NO_LOGIN && said.includes('client certificate'))
    return 'Put sslcert=PATH and sslkey=PATH into the address in store';
  if (code !== NO_RIGHT) return undefined;
  const role = user === null ? 'ROLE' : `"${user.replaceAll('"', '""')}"`;
  if (said.includes('for schema')) return `Let the owner run: GRANT USAGE ON SCHEMA assistant TO ${role}`;
  if (said.includes('for database'))
    return `Let an administrator run in this database: CREATE SCHEMA assistant AUTHORIZATION ${role}`;
  return said.includes('for table') ? `Let the owner run: GRANT ${RIGHTS} TO ${role}` : undefined;
}

const NOT_TRUSTED = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
]);

function tlsTrouble(error: unknown, { host, rootCert, tls }: StoreAddress): string | undefined {
  const code = errorCode(error) ?? '';
  const certificate = `the certificate of the server at ${host}`;
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return `${certificate} is for ${namesIn(error)} and not for ${host}. Name the server in the address in store as its certificate does, or give it one for ${host}.`;
  if (code === 'CERT_HAS_EXPIRED') return `${certificate} has expired by the clock of this machine. Renew it there.`;
  if (code === 'CERT_NOT_YET_VALID')
    return `${certificate} is not valid yet by the clock of this machine. Set the clock, or renew the certificate there.`;
  if (NOT_TRUSTED.has(code)) {
    const by = rootCert === null ? 'an authority that is known here' : `the authority in ${rootCert} (sslrootcert)`;
    return `${certificate} is not signed by ${by}. Put sslrootcert=PATH into the address in store, with the certificate of the authority that signed it.`;
  }
  const said = errorMessage(error);
  if (said === 'The server does not support SSL connections')
    return `the server at ${host} has no TLS, which the address in store asks for. Set ssl = on in its postgresql.conf. sslmode=disable goes without, where no one else is on the way.`;
  if (tls !== 'none' && code.startsWith('ERR_SSL_'))
    return `TLS with the server at ${host} failed (${reasonOf(error)}). If it asks for certificates, look at sslcert and sslkey in the address in store.`;
  return undefined;
}

function namesIn(error: unknown): string {
  const text =
    error instanceof Error && 'cert' in error ? (error.cert as { subjectaltname?: string }).subjectaltname : '';
  const names = (text ?? '').replaceAll(/(?:DNS|IP Address):/gu, '');
  return names === '' ? 'no name' : names;
}

/** What OpenSSL calls it, without where in its source. */
function reasonOf(error: unknown): string {
  return error instanceof Error && 'reason' in error ? String(error.reason) : errorMessage(error);
}
