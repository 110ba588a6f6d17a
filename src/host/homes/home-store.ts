import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { ensureDirectory } from '../../core/storage/files.ts';
import type { Migration, SchemaPart } from '../../core/storage/open-database.ts';
import type { Clock } from '../../core/util/clock.ts';
import type { Logger } from '../../core/util/log.ts';
import { type Gateway, Presence } from './gateways.ts';
import { tablesAfter } from './journal-tables.ts';
import { LEASE_MS, Leases } from './lease.ts';
import { readMark, writeMark } from './mark.ts';
import { Postgres } from './postgres.ts';
import { installSchema } from './schema.ts';

export interface HomeStoreOptions {
  /** `postgres://…` */
  readonly url: string;
  /** @default 15 s */
  readonly leaseMs?: number;
  /** Absolute path: the folder of the one home, or that of the machine. Its lock must be held. */
  readonly folder: string;
  /** The one home that lives in the folder; null: the folder is that of a machine with many. */
  readonly home: string | null;
  /** What the other gateways and people are told of this one; absent: nothing. */
  readonly gateway?: Gateway;
  /** Of the journal. */
  readonly migrations: readonly Migration[];
  /** Further tables of the journal. */
  readonly tables: readonly SchemaPart[];
  readonly clock: Clock;
  readonly log: Logger;
}

/** The PostgreSQL that keeps homes, as one process uses it: all of its homes share it. */
export interface HomeStore extends AsyncDisposable {
  /** Of the database. */
  readonly id: string;
  /** Under which name this process claims homes. */
  readonly owner: string;
  /** For all homes of the process. */
  readonly postgres: Postgres;
  /** On connections of their own, so that busy homes never delay a renewal. */
  readonly leases: Leases;
  /** What the others know of this gateway, on the connections of the leases; absent without `gateway`. */
  readonly presence?: Presence;
}

/**
 * Connections of one process. A home uses one while it writes, some 2 ms at a time, four times a turn, so eight carry more
 * turns than a process can run; a home that is opened and reads for long takes one, and a few are opened at a time. Eight
 * gateways stay within the 100 that a server allows unless it is told otherwise.
 */
const MOST_CONNECTIONS = 8;
/** For a renewal, a claim and the gateway's presence at the same moment. */
const LEASE_CONNECTIONS = 3;
/** A renewal that hangs is given up after this part of the lease, so that the next one can still save it. */
const LEASE_CALL_PART = 1 / 3;
const SHORTEST_LEASE_CALL_MS = 1_000;

/**
 * Connects, and brings the tables of the database up to date. An owner's name stays the same as long as the folder does, so that the
 * next process of this folder gets its homes back at once. Throws as `Postgres` and `installSchema` do.
 */
export async function openHomeStore(options: HomeStoreOptions): Promise<HomeStore> {
  const { url, folder, home, migrations, tables, clock, log, leaseMs = LEASE_MS } = options;
  await using stack = new AsyncDisposableStack();
  const postgres = stack.use(await Postgres.open(url, { clock, most: MOST_CONNECTIONS }));
  const id = await installSchema(postgres, tablesAfter(migrations, tables));
  const owner = await ownerOf(folder, { store: id, home });
  const callMs = Math.max(SHORTEST_LEASE_CALL_MS, leaseMs * LEASE_CALL_PART);
  const own = stack.use(await Postgres.open(url, { clock, most: LEASE_CONNECTIONS, callMs }));
  const leases = stack.use(new Leases({ postgres: own, owner, clock, log, leaseMs, schema: migrations.length }));
  const { gateway } = options;
  const presence =
    gateway === undefined
      ? undefined
      : stack.use(
          new Presence({ postgres: own, owner, gateway, only: home, schema: migrations.length, leaseMs, clock, log }),
        );
  await presence?.note();
  const owned = stack.move();
  return {
    id,
    owner,
    postgres,
    leases,
    ...(presence === undefined ? {} : { presence }),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** A folder that was copied to another machine or place is another owner's. That of one home is marked when it is opened. */
async function ownerOf(
  folder: string,
  { store, home }: { readonly store: string; readonly home: string | null },
): Promise<string> {
  const place = home ?? `/${folder} on ${hostname()}`;
  const mark = await readMark(folder);
  if (mark?.store === store && mark.home === place) return mark.owner;
  const owner = randomUUID();
  if (home === null) {
    await ensureDirectory(folder);
    await writeMark(folder, { store, home: place, owner });
  }
  return owner;
}
