import { assistantCommand } from '../../core/util/assistant-command.ts';
import { AppError } from '../../core/util/errors.ts';
import type { Postgres } from './postgres.ts';
import { textOf } from './stored-values.ts';

/** What PostgreSQL says of a home, before anyone claims it. */
export interface StoredHome {
  readonly name: string;
  /** 0: it was never completely written. */
  readonly schema: number;
  readonly revision: number;
  readonly owner: string | null;
  /** The gateway that runs it, as people know it; null where that is not known. */
  readonly gateway: string | null;
  /** A program that reads it has to know so many steps of the journal's schema. */
  readonly oldestReader: number;
  /** A gateway or a move has a lease that did not end. */
  readonly isHeld: boolean;
  /** The owner whose folder has the home; null: the database has it. */
  readonly keptBy: string | null;
  /** That folder, as people know it. */
  readonly keptAt: string;
}

/** Undefined: there is no home of that name. */
export async function readStoredHome(postgres: Postgres, name: string): Promise<StoredHome | undefined> {
  const [row] = await postgres.query(
    `SELECT home.schema, home.revision, home.owner, home.oldest_reader, gateway.name AS gateway,
       coalesce(home.lease_until > clock_timestamp(), false) AS held, home.kept_by, home.kept_at
     FROM assistant.homes AS home LEFT JOIN assistant.gateways AS gateway ON gateway.owner = home.owner WHERE home.name = $1`,
    [name],
  );
  if (row === undefined) return undefined;
  return {
    name,
    schema: Number(row['schema']),
    revision: Number(row['revision']),
    owner: textOf(row['owner']),
    gateway: textOf(row['gateway']),
    oldestReader: Number(row['oldest_reader']),
    isHeld: row['held'] === true,
    keptBy: textOf(row['kept_by']),
    keptAt: textOf(row['kept_at']) ?? 'a folder',
  };
}

/** A folder has the home: it is on its way into the database, or was moved out of it. */
export function keptByFolder({ name, keptAt }: StoredHome): AppError {
  return new AppError(
    'home-kept-by-folder',
    `The home ${name} is in ${keptAt}, and the database has no more than an older or unfinished copy. Nothing was changed. To move it into the database, run there: ${assistantCommand('store migrate --to')}, with the address of the database.`,
    { exitCode: 78 },
  );
}

/** Says which gateway runs a home. */
export function runsHome({ name, gateway }: Pick<StoredHome, 'name' | 'gateway'>): string {
  return `${gateway === null ? 'Another gateway' : `The gateway ${gateway}`} runs the home ${name}.`;
}

export function homeHeld(name: string, gateway: string | null = null): AppError {
  return new AppError(
    'home-held',
    `The home ${name} is run by ${gateway === null ? 'another gateway' : `the gateway ${gateway}`}, or was written by a newer version. Nothing was changed. Stop the assistant on every machine, and run this again.`,
  );
}

export function homeForeign({ folder, name }: { readonly folder: string; readonly name: string }): AppError {
  return new AppError(
    'home-foreign',
    `The database already has a home named ${name}, and ${folder} is another one. Nothing was changed. Start with an empty folder to run the home of the database, or rename this folder to give its home another name.`,
    { exitCode: 78 },
  );
}

export function homeIncomplete(name: string): AppError {
  return new AppError(
    'home-incomplete',
    `The home ${name} was never completely written to the database. Start the assistant once more on the machine that it comes from.`,
    { exitCode: 78 },
  );
}

/** This gateway gave the home back. */
export function homeReleased(name: string): AppError {
  return new AppError('home-released', `The home ${name} was handed over.`);
}

export function homeLost(name: string): AppError {
  return new AppError(
    'home-lost',
    `Another gateway took the home ${name}. Nothing more is written or sent from here; the assistant starts again and waits until the home is free.`,
  );
}

/** The server went back to an earlier state: a standby that had not all was promoted, or a backup was restored. */
export function homeRewound(name: string): AppError {
  return new AppError(
    'home-rewound',
    `PostgreSQL lost what it had committed of the home ${name}: it went back to an earlier state. The assistant starts again and sends it anew from this folder, unless another gateway takes the home first.`,
  );
}
