import { existsSync } from 'node:fs';
import { lookup } from 'node:dns/promises';
import { BlockList, isIPv6 } from 'node:net';
import { join } from 'node:path';
import { isLoopback } from '../../core/gateway/token.ts';
import { type Fleet, readFleet } from '../homes/fleet.ts';
import { tablesAfter } from '../homes/journal-tables.ts';
import { placeOf as placeOfHome, storedHomeName } from '../homes/kept-home.ts';
import { type Mark, readMark } from '../homes/mark.ts';
import { Postgres } from '../homes/postgres.ts';
import { readServerAddresses, readServerFacts, type ServerAddress, type ServerFacts } from '../homes/server-facts.ts';
import { journalMigrations } from '../../core/journal/schema.ts';
import { readStoreAddress } from '../../core/storage/store-address.ts';
import type { Clock } from '../../core/util/clock.ts';
import { AppError, errorMessage } from '../../core/util/errors.ts';
import { skipped, type Found } from '../../core/util/finding.ts';
import type { Scene } from '../../core/doctor/scene.ts';

/** Where the home of a folder, or the homes of a machine, are kept. */
export interface StoredHomeAddress {
  /** Of PostgreSQL. */
  readonly url: string;
  /** @default 15 s */
  readonly leaseMs: number | undefined;
  /** How PostgreSQL knows the home; null: the folder is that of a machine with many. */
  readonly name: string | null;
  /** How people and the other gateways know the folder. */
  readonly knownAs: string;
}

/** What the checks of the database look at. */
export interface DatabaseLook extends StoredHomeAddress {
  readonly servers: readonly NamedServer[];
  readonly user: string;
  readonly database: string;
  /** Where they are, seen from here; the farthest. */
  readonly place: Place;
  /** Its certificate is not looked at. */
  readonly isUnchecked: boolean;
  /** What the one says that takes writes. */
  readonly server: ServerFacts | AppError;
  /** What it knows of homes and gateways; null: it has no homes of this version yet, or did not answer. */
  readonly fleet: Fleet | null;
  /** Of which database and home the folder is a copy; undefined: of none. */
  readonly mark: Mark | undefined;
}

/** A server that the address names. */
export interface NamedServer extends Pick<ServerAddress, 'host' | 'port'> {
  /** What its name leads to: addresses, or the path of a socket. Empty: nothing. */
  readonly found: readonly string[];
}

type Place = (typeof PLACES)[number];
const PLACES = ['this machine', 'private network', 'elsewhere'] as const;

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
  find: (server: ServerFacts, look: DatabaseLook, scene: Scene) => readonly Found[],
): (scene: Scene) => Promise<readonly Found[]> {
  return async (scene) => {
    const found = await lookAtDatabase(scene);
    if (found === null) return [];
    if (found instanceof AppError || found.server instanceof AppError) return [skipped('The database did not answer.')];
    return find(found.server, found, scene);
  };
}

async function look({ program, loaded, clock, paths }: Scene): Promise<DatabaseLook | AppError | null> {
  if (loaded === null || loaded.config.store === null) return null;
  const { store, homes } = loaded.config;
  const { leaseMs } = readStoreAddress(store);
  const stored = {
    url: store,
    leaseMs,
    name: homes.enabled ? null : storedHomeName(paths),
    knownAs: placeOfHome(paths),
  };
  let addresses: readonly ServerAddress[];
  try {
    addresses = await readServerAddresses(stored.url);
  } catch (error) {
    return new AppError('store-address', errorMessage(error));
  }
  const servers = await Promise.all(
    addresses.map(async (one) => ({ host: one.host, port: one.port, found: await leadsTo(one) })),
  );
  const { user = '', database = '' } = addresses[0] ?? {};
  const tables = tablesAfter(journalMigrations, program.tables);
  const [server, fleet, mark] = await Promise.all([
    readServerFacts(stored.url, { clock, tables, callMs: CALL_MS }).catch((error: unknown) =>
      error instanceof AppError ? error : new AppError('store-unreachable', errorMessage(error)),
    ),
    fleetOf(stored.url, clock),
    readMark(paths.home),
  ]);
  const place = PLACES[Math.max(...servers.map((one) => PLACES.indexOf(placeOf(one))))] ?? 'elsewhere';
  const isUnchecked = readStoreAddress(stored.url).tls === 'unchecked';
  return { ...stored, isUnchecked, servers, user, database, place, server, fleet, mark };
}

async function fleetOf(url: string, clock: Clock): Promise<Fleet | null> {
  await using postgres = await Postgres.open(url, { clock, callMs: CALL_MS });
  return await readFleet(postgres, journalMigrations.length).catch(() => null);
}

async function leadsTo({ host, port }: Pick<ServerAddress, 'host' | 'port'>): Promise<readonly string[]> {
  if (host.startsWith('/')) {
    const socket = join(host, `.s.PGSQL.${port}`);
    return existsSync(socket) ? [socket] : [];
  }
  const all = await lookup(host, { all: true }).catch(() => []);
  return all.map(({ address }) => address);
}

function placeOf({ host, found }: NamedServer): Place {
  if (host.startsWith('/') || isLoopback(host) || (found.length > 0 && found.every(isLoopback))) return 'this machine';
  const isPrivate = (one: string): boolean => PRIVATE.check(one, isIPv6(one) ? 'ipv6' : 'ipv4');
  return found.length > 0 && found.every(isPrivate) ? 'private network' : 'elsewhere';
}
