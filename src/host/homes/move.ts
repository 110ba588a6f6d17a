import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import type { Migration, SchemaPart } from '../../core/storage/open-database.ts';
import type { Clock } from '../../core/util/clock.ts';
import { AppError } from '../../core/util/errors.ts';
import type { Logger } from '../../core/util/log.ts';
import { plural } from '../../core/util/text.ts';
import type { Compared } from './compare-home.ts';
import { tablesAfter } from './journal-tables.ts';
import { type Lease, Leases } from './lease.ts';
import { type Mark, readMark } from './mark.ts';
import { Postgres } from './postgres.ts';
import { installSchema } from './schema.ts';
import { homeForeign, homeHeld, homeIncomplete, readStoredHome, type StoredHome } from './stored-home.ts';

export interface MoveOptions {
  /** `postgres://…` */
  readonly url: string;
  readonly leaseMs?: number;
  readonly name: string;
  /** Absolute paths: the home's folder, its journal, the folder with its tapes. */
  readonly folder: string;
  readonly state: string;
  readonly sessions: string;
  /** The folder, as people know it. */
  readonly place: string;
  /** Of the journal. */
  readonly migrations: readonly Migration[];
  /** Further tables of the journal. */
  readonly tables: readonly SchemaPart[];
  readonly backupPath: ((fromVersion: number) => string) | null;
  readonly clock: Clock;
  readonly log: Logger;
  /** Told what is done now. */
  readonly onStep: (text: string) => void;
  /** Writes the setting, once the other place has everything. May be called again by a later attempt. */
  readonly switchOver: () => Promise<void>;
}

/** What was moved; null: the home was there already. */
export type Moved = Compared | null;

/** Most that one call of a move takes: whole tables and long tapes are hashed in one, ms. */
const CALL_MS = 600_000;

/** What both directions begin with. */
export interface Opened {
  readonly postgres: Postgres;
  readonly mark: Mark;
  /** The folder is, or was, a copy of this home of this database. */
  readonly isCopy: boolean;
  readonly found: StoredHome | undefined;
}

/** Connects, and looks at what is on both sides; changes neither. The stack closes the connection. */
export async function openMove(options: MoveOptions, stack: AsyncDisposableStack): Promise<Opened> {
  const { url, name, folder, clock, migrations, tables } = options;
  const postgres = stack.use(await Postgres.open(url, { clock, callMs: CALL_MS }));
  const store = await installSchema(postgres, tablesAfter(migrations, tables));
  const before = await readMark(folder);
  const isCopy = before?.store === store && before.home === name;
  const ours = { store, home: name, owner: before?.owner ?? randomUUID() };
  const mark = isCopy && before.boot !== undefined ? { ...ours, boot: before.boot } : ours;
  return { postgres, mark, isCopy, found: await readStoredHome(postgres, name) };
}

/** Throws when the folder may not become a copy of the home that the database has. */
export function requireOurs({ found, isCopy, mark }: Opened, { name, folder, state }: MoveOptions): void {
  if (found === undefined) {
    throw new AppError('home-missing', `The database has no home named ${name}. Nothing was changed.`);
  }
  if (found.schema === 0) throw homeIncomplete(name);
  if (!isCopy && existsSync(state)) throw homeForeign({ folder, name });
  requireFree(found, mark);
}

/** Throws when another gateway runs the home. */
export function requireFree(found: StoredHome | undefined, { owner }: Mark): void {
  if (found?.isHeld === true && found.owner !== owner) throw homeHeld(found.name, found.gateway);
}

/** Claims the home for the move; `keptBy`: the owner whose folder has it. The stack gives it back. */
export async function claimForMove(
  { postgres, mark, found }: Opened,
  { clock, log, leaseMs, migrations, name }: MoveOptions,
  { keptBy, stack }: { readonly keptBy: string | null; readonly stack: AsyncDisposableStack },
): Promise<Lease> {
  const leases = stack.use(
    new Leases({
      postgres,
      owner: mark.owner,
      clock,
      log,
      schema: migrations.length,
      keptBy,
      ...(leaseMs === undefined ? {} : { leaseMs }),
    }),
  );
  const lease = await leases.claim(name);
  if (lease === null) throw homeHeld(name, found?.gateway);
  // What fails has its own error; without this the next claim waits until the lease has ended.
  stack.defer(() => lease.release().catch(() => {}));
  return lease;
}

/** Throws when not all is the same. */
export function requireSame({ differing }: Compared, name: string): void {
  if (differing.length === 0) return;
  const some = differing.slice(0, 5).join(', ');
  throw new AppError(
    'home-differs',
    `The copy of the home ${name} is not the same in ${plural(differing.length, 'part')}: ${some}. The home stays where it was. Run this again.`,
  );
}
