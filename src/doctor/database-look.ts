import { existsSync } from 'node:fs';
import { lookup } from 'node:dns/promises';
import { BlockList, isIPv6 } from 'node:net';
import { join } from 'node:path';
import { isLoopback } from '../gateway/token.ts';
import { tablesAfter } from '../homes/journal-tables.ts';
import { readServerAddress, readServerFacts, type ServerAddress, type ServerFacts } from '../homes/server-facts.ts';
import { journalMigrations } from '../journal/schema.ts';
import { readStoreAddress } from '../storage/store-address.ts';
import { AppError, errorMessage } from '../util/errors.ts';
import { skipped, type Finding } from './check.ts';
import type { Scene, StoredHomeAddress } from './scene.ts';

/** What the checks of the database look at. */
export interface DatabaseLook extends StoredHomeAddress {
  readonly address: ServerAddress;
  /** What its name leads to: addresses, or the path of a socket. Empty: nothing. */
  readonly found: readonly string[];
  /** Where it is, seen from here. */
  readonly place: 'this machine' | 'private network' | 'elsewhere';
  /** Its certificate is not looked at. */
  readonly isUnchecked: boolean;
  readonly server: ServerFacts | AppError;
}

/** One call of the server may take this long, so that all of them end within the deadline of a check; ms. */
const CALL_MS = 4_000;

const PRIVATE = new BlockList();
for (const [net, bits] of [
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['169.254.0.0', 16],
] as const)
  PRIVATE.addSubnet(net, bits, 'ipv4');
for (const [net, bits] of [
  ['fc00::', 7],
  ['fe80::', 10],
] as const)
  PRIVATE.addSubnet(net, bits, 'ipv6');

const looks = new WeakMap<Scene, Promise<DatabaseLook | AppError | null>>();

/**
 * Looks at the database of the setting `store` once for all checks. Null: there is no such setting. An error: the address cannot
 * be read.
 */
export function lookAtDatabase(scene: Scene): Promise<DatabaseLook | AppError | null> {
  const known = looks.get(scene) ?? look(scene);
  looks.set(scene, known);
  return known;
}

/** Whether there is a database to look at. */
export function hasDatabase({ loaded }: Scene): boolean {
  return loaded !== null && loaded.config.store !== null;
}

/** What a check finds in a look at a server that answered; it is skipped where none did. */
export function ofServer(
  find: (server: ServerFacts, look: DatabaseLook, scene: Scene) => readonly Finding[],
): (scene: Scene) => Promise<readonly Finding[]> {
  return async (scene) => {
    const found = await lookAtDatabase(scene);
    if (found === null) return [];
    if (found instanceof AppError || found.server instanceof AppError) return [skipped('The database did not answer.')];
    return find(found.server, found, scene);
  };
}

async function look({ loaded, ports, clock }: Scene): Promise<DatabaseLook | AppError | null> {
  const stored = loaded === null ? null : ports.storedHome(loaded);
  if (stored === null) return null;
  let address: ServerAddress;
  try {
    address = await readServerAddress(stored.url);
  } catch (error) {
    return new AppError('store-address', errorMessage(error));
  }
  const found = await leadsTo(address);
  const tables = tablesAfter(journalMigrations);
  const server = await readServerFacts(stored.url, { clock, tables, callMs: CALL_MS }).catch((error: unknown) =>
    error instanceof AppError ? error : new AppError('store-unreachable', errorMessage(error)),
  );
  const isUnchecked = readStoreAddress(stored.url).tls === 'unchecked';
  return { ...stored, address, found, place: placeOf(address, found), isUnchecked, server };
}

async function leadsTo({ host, port }: ServerAddress): Promise<readonly string[]> {
  if (host.startsWith('/')) {
    const socket = join(host, `.s.PGSQL.${port}`);
    return existsSync(socket) ? [socket] : [];
  }
  const all = await lookup(host, { all: true }).catch(() => []);
  return all.map(({ address }) => address);
}

function placeOf({ host }: ServerAddress, found: readonly string[]): DatabaseLook['place'] {
  if (host.startsWith('/') || isLoopback(host) || (found.length > 0 && found.every(isLoopback))) return 'this machine';
  const isPrivate = (one: string): boolean => PRIVATE.check(one, isIPv6(one) ? 'ipv6' : 'ipv4');
  return found.length > 0 && found.every(isPrivate) ? 'private network' : 'elsewhere';
}
