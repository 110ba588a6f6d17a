import type { Postgres, StoredRow } from './postgres.ts';
import { textOf } from './stored-values.ts';

/** A gateway that the database knows. */
export interface GatewayFacts {
  readonly owner: string;
  /** Its folder and machine. */
  readonly name: string;
  readonly version: string;
  /** Milliseconds since 1970, by its own clock. */
  readonly startedAt: number;
  /** Seen lately, by the clock of the database. */
  readonly isAlive: boolean;
  /** It hands over what it has, and takes no more. */
  readonly isLeaving: boolean;
  /** It asks for its share of the homes. */
  readonly isTaking: boolean;
  /** The one home that it runs or waits for; null: it takes its share of all. */
  readonly only: string | null;
  /** Most homes that it runs. */
  readonly max: number;
  /** Steps of the journal's schema that its program knows. */
  readonly schema: number;
  /** Homes that it could not open. */
  readonly avoids: readonly string[];
  /** How many it runs, and what they take together (see `HomeLoad`). */
  readonly homes: number;
  readonly load: number;
}

/** A home that the database knows. */
export interface HomeFacts {
  readonly name: string;
  /** Who claimed it last and did not give it back. */
  readonly owner: string | null;
  /** The name of that gateway; null: there is none, or the database does not know it. */
  readonly gateway: string | null;
  /** Someone has a lease that did not end. */
  readonly isHeld: boolean;
  /** Its gateway is handing it over. */
  readonly isLeaving: boolean;
  /** Negative: since when it is free; null: it was never claimed. */
  readonly leaseEndsInMs: number | null;
  readonly load: number;
  /** Write transactions so far. */
  readonly revision: number;
  /** When the last one was, milliseconds since 1970; null: there was none. */
  readonly writtenAt: number | null;
  /** All of it was written; otherwise only the folder that it comes from can run it. */
  readonly isWhole: boolean;
  /** The owner whose folder has the home, and that folder; null: the database has it. */
  readonly keptBy: string | null;
  readonly keptAt: string | null;
  /** How many steps of the journal's schema a program has to know to run it. */
  readonly oldestReader: number;
  /** This program is too old for it. */
  readonly needsNewer: boolean;
}

/** What runs where. */
export interface Fleet {
  /** Those that are gone are known for a day. Ordered by name. */
  readonly gateways: readonly GatewayFacts[];
  /** Ordered by name. */
  readonly homes: readonly HomeFacts[];
}

/** `schema`: steps of the journal's schema that this program knows. Rejects as `Postgres` does. */
export async function readFleet(postgres: Postgres, schema: number): Promise<Fleet> {
  const [gateways = [], homes = []] = await postgres.transaction([
    { text: 'SELECT *, seen_until > clock_timestamp() AS alive FROM assistant.gateways ORDER BY name, owner' },
    {
      text: `SELECT name, owner, coalesce(lease_until > clock_timestamp(), false) AS held, is_leaving, load, revision,
          1000 * extract(epoch FROM lease_until - clock_timestamp()) AS ends, written_at, schema > 0 AS whole, kept_by, kept_at,
          oldest_reader
        FROM assistant.homes ORDER BY name`,
    },
  ]);
  const names = new Map(gateways.map((row) => [String(row['owner']), String(row['name'])]));
  const facts = homes.map((row) => homeOf(row, names, schema));
  return { gateways: gateways.map((row) => gatewayOf(row, facts)), homes: facts };
}

function homeOf(row: StoredRow, names: ReadonlyMap<string, string>, schema: number): HomeFacts {
  const owner = textOf(row['owner']);
  return {
    name: String(row['name']),
    owner,
    gateway: owner === null ? null : (names.get(owner) ?? null),
    isHeld: row['held'] === true,
    isLeaving: row['is_leaving'] === true,
    leaseEndsInMs: row['ends'] === null ? null : Math.round(Number(row['ends'])),
    load: Number(row['load']),
    revision: Number(row['revision']),
    writtenAt: timeOf(row['written_at']),
    isWhole: row['whole'] === true,
    keptBy: textOf(row['kept_by']),
    keptAt: textOf(row['kept_at']),
    oldestReader: Number(row['oldest_reader']),
    needsNewer: Number(row['oldest_reader']) > schema,
  };
}

function gatewayOf(row: StoredRow, homes: readonly HomeFacts[]): GatewayFacts {
  const owner = String(row['owner']);
  const held = homes.filter((home) => home.isHeld && home.owner === owner);
  return {
    owner,
    name: String(row['name']),
    version: String(row['version']),
    startedAt: timeOf(row['started_at']) ?? 0,
    isAlive: row['alive'] === true,
    isLeaving: row['is_leaving'] === true,
    isTaking: row['is_taking'] === true,
    only: textOf(row['only_home']),
    max: Number(row['max']),
    schema: Number(row['schema']),
    avoids: (row['avoids'] as readonly unknown[]).map(String),
    homes: held.length,
    load: held.reduce((sum, { load }) => sum + load, 0),
  };
}

const timeOf = (value: unknown): number | null => (value instanceof Date ? value.getTime() : null);
