import { TABLES } from '../support/extensions.ts';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { claimAndOpen, type ClaimHomeOptions } from '../../src/host/homes/claim-home.ts';
import { openHomeStore } from '../../src/host/homes/home-store.ts';
import { digestOfCache, digestOfStore, type TableDigest } from '../../src/host/homes/journal-digest.ts';
import { journalTables, tablesAfter } from '../../src/host/homes/journal-tables.ts';
import type { OpenHome, OpenHomeOptions } from '../../src/host/homes/open-home.ts';
import { Postgres } from '../../src/host/homes/postgres.ts';
import { openJournal, type Journal } from '../../src/core/journal/journal.ts';
import type { HomeTapes } from '../../src/host/homes/home-tapes.ts';
import { journalMigrations } from '../../src/core/journal/schema.ts';
import { Sessions } from '../../src/core/session/sessions.ts';
import { StoredTapes } from '../../src/core/session/stored-tapes.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import type { AppError } from '../../src/core/util/errors.ts';
import { createIds } from '../../src/core/util/ids.ts';
import { silentLog } from '../../src/core/util/log.ts';
import { systemRandom } from '../../src/core/util/random.ts';

/** One gateway's copy of a home: what PostgreSQL keeps of it, its journal and its tapes. */
export interface Copy extends AsyncDisposable {
  readonly home: OpenHome;
  readonly journal: Journal;
  readonly sessions: Sessions;
  /** Why the journal takes nothing any more. */
  readonly failures: readonly AppError[];
}

export const HOME = 'alice';

const newId = createIds(systemClock, systemRandom);

export interface GatewayOptions
  extends Pick<ClaimHomeOptions, 'onWaiting' | 'onUnreachable'>, Partial<Omit<OpenHomeOptions, 'store' | 'lease'>> {
  readonly leaseMs?: number;
}

/** Opens the home in a folder as a gateway of one home does; it waits while another gateway runs it. */
export async function openGateway(
  url: string,
  folder: string,
  { leaseMs = 2_000, ...options }: GatewayOptions = {},
): Promise<OpenHome> {
  await using stack = new AsyncDisposableStack();
  const parts = {
    folder,
    migrations: journalMigrations,
    tables: TABLES,
    clock: systemClock,
    log: silentLog,
    ...options,
  };
  const store = stack.use(await openHomeStore({ ...parts, url, leaseMs, home: HOME }));
  const paths = { state: join(folder, 'state.db'), sessions: join(folder, 'sessions') };
  const { signal } = new AbortController();
  const home = stack.use(await claimAndOpen({ config: 'own', ...parts, ...paths, store, name: HOME, signal }));
  const owned = stack.move();
  return { ...home, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

export interface CopyOptions extends GatewayOptions {
  /** Changes the folder once it is the copy, as a person who wants something forgotten does. */
  readonly rewrite?: (folder: string) => Promise<void>;
}

/** Opens the home in a folder as a gateway does, but for what lives above the stores. */
export async function openCopy(url: string, folder: string, { rewrite, ...options }: CopyOptions = {}): Promise<Copy> {
  await using stack = new AsyncDisposableStack();
  await mkdir(join(folder, 'workspace'), { recursive: true });
  const sessionsFolder = join(folder, 'sessions');
  const path = join(folder, 'state.db');
  const home = stack.use(await openGateway(url, folder, options));
  if (rewrite !== undefined) {
    await rewrite(folder);
    home.resend();
  }
  const failures: AppError[] = [];
  const journal = stack.use(
    await openJournal({
      path,
      backupPath: null,
      tables: TABLES,
      clock: systemClock,
      newId,
      boot: `epoch ${home.lease.epoch}`,
      watermark: home.watermark,
      onSyncFailure: (error) => failures.push(error),
    }),
  );
  const parts = {
    directory: sessionsFolder,
    quarantine: join(folder, 'quarantine'),
    clock: systemClock,
    log: silentLog,
  };
  const sessions = new Sessions({ ...parts, newId, mayHaveLost: journal.mayHaveLost });
  const writeWithJournal: HomeTapes['writeWithJournal'] = (part) => home.tapes.writeWithJournal(part);
  await sessions.keepIn(new StoredTapes({ ...parts, store: home.tapes, writeWithJournal, owner: 'PostgreSQL' }));
  stack.defer(() => sessions.close());
  const owned = stack.move();
  return { home, journal, sessions, failures, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** The journal in a folder, and what PostgreSQL has of it. No process may have the home open. */
export async function digests(
  url: string,
  folder: string,
): Promise<{ readonly here: readonly TableDigest[]; readonly there: readonly TableDigest[] }> {
  await using postgres = await Postgres.open(url, { clock: systemClock });
  using db = new DatabaseSync(join(folder, 'state.db'), { readOnly: true });
  return {
    here: digestOfCache(db, journalTables(db)),
    there: await digestOfStore(postgres, HOME, tablesAfter(journalMigrations, TABLES)),
  };
}
