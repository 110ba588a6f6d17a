import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import type { CommitWatermark, WatermarkListeners } from '../storage/commit-sync.ts';
import { ensureDirectory } from '../storage/files.ts';
import { type Migration, openDatabase, schemaOf } from '../storage/open-database.ts';
import { type Clock, deadline, raceAbort, sleep } from '../util/clock.ts';
import { errorMessage } from '../util/errors.ts';
import type { Logger } from '../util/log.ts';
import { HomeFiles } from './file-changes.ts';
import { bringFiles, type Fetched } from './files-cache.ts';
import { HomeTapes } from './home-tapes.ts';
import { HomeWriter, type HomeWriterOptions } from './home-writer.ts';
import { bringJournal, CACHE_STATE, dropOldEpochs, type Brought } from './journal-cache.ts';
import { tablesAfter } from './journal-tables.ts';
import { type Lease, Leases } from './lease.ts';
import { readMark, writeMark } from './mark.ts';
import { Postgres } from './postgres.ts';
import { installSchema } from './schema.ts';
import { sendHome, sendTapes } from './send-home.ts';
import { homeForeign, homeIncomplete, keptByFolder, readStoredHome } from './stored-home.ts';
import { schemaStatement } from './statements.ts';
import { StoredCommits } from './stored-commits.ts';

export interface OpenHomeOptions extends Pick<HomeWriterOptions, 'onTrouble' | 'onHealed'> {
  /** `postgres://…` */
  readonly url: string;
  readonly name: string;
  /** Absolute paths: the home's folder, its journal, the folder with its tapes. */
  readonly folder: string;
  readonly state: string;
  readonly sessions: string;
  /** Of the journal. */
  readonly migrations: readonly Migration[];
  readonly clock: Clock;
  readonly log: Logger;
  /** @default 15 s */
  readonly leaseMs?: number | undefined;
  /** Ends the waiting for a home that another gateway runs; its reason is thrown. */
  readonly signal: AbortSignal;
}

/** A home that PostgreSQL keeps and this gateway runs; its folder is a copy that stands where PostgreSQL does. */
export interface OpenHome extends AsyncDisposable {
  readonly lease: Lease;
  readonly writer: HomeWriter;
  readonly tapes: HomeTapes;
  readonly files: HomeFiles;
  readonly brought: Brought;
  readonly fetched: Fetched;
  /** Call before `openJournal` when the folder was changed since it was brought: all of it is sent again. */
  resend(): void;
  /** For `openJournal`. */
  readonly watermark: (db: DatabaseSync, listeners: WatermarkListeners) => CommitWatermark;
}

/** Between two attempts to claim a home that another gateway runs, ms. */
const CLAIM_AGAIN_MS = 500;
/** How long closing waits for what is left to be written. */
const CLOSING_MS = 3_000;
/** How long giving the home back may take; without that the next gateway waits until the lease has ended. */
const RELEASE_MS = 1_000;

/**
 * Claims a home, waits while another gateway runs it, and makes the folder its copy. A home that PostgreSQL does not have yet
 * is written there as it lies in the folder. The lock of the folder must be held. Disposing writes what is left and gives the
 * home back. Throws `home-foreign` when the folder holds a home of its own and `home-incomplete` when what PostgreSQL has
 * was never finished; and as `Postgres` does.
 */
export async function openHome(options: OpenHomeOptions): Promise<OpenHome> {
  const { name, folder, clock, log, migrations, state } = options;
  await using stack = new AsyncDisposableStack();
  const postgres = stack.use(await Postgres.open(options.url, { clock }));
  const store = await installSchema(postgres, tablesAfter(migrations));
  const mark = await readMark(folder);
  const isCopy = mark?.store === store && mark.home === name;
  const owner = isCopy ? mark.owner : randomUUID();
  const { leaseMs } = options;
  const leases = stack.use(
    new Leases({
      postgres,
      owner,
      clock,
      log,
      schema: migrations.length,
      ...(leaseMs === undefined ? {} : { leaseMs }),
    }),
  );
  const lease = await claim(leases, postgres, options);
  stack.defer(() => release(lease, options));
  const ours = { store, home: name, owner };
  const onRewound = (): Promise<void> => writeMark(folder, { ...ours, ahead: lease.epoch });
  const writer = new HomeWriter({ postgres, lease, clock, log, onRewound, ...listenersOf(options) });
  const files = new HomeFiles({ postgres, name, folder });
  const isNew = lease.claimed.schema === 0;
  if (isNew && lease.claimed.revision > 0 && !existsSync(state)) throw homeIncomplete(name);
  if (!isNew && !isCopy && existsSync(state)) throw homeForeign(options);
  await ensureDirectory(folder);
  // No one claimed the home since the database was found to be behind this copy.
  const isAhead = isCopy && mark.ahead === lease.epoch - 1 && existsSync(state);
  await writeMark(folder, isAhead ? { ...ours, ahead: lease.epoch } : ours);
  const isHere = isNew || isAhead;
  const fetched = isHere ? { files: 0, bytes: 0 } : await bringFiles({ ...options, postgres, files });
  const brought = isAhead
    ? await sendAgain({ ...options, postgres, writer, lease, files })
    : await bringJournal({ postgres, lease, path: state, migrations });
  if (isAhead) await writeMark(folder, ours);
  await dropOldEpochs(postgres, lease);
  if (isNew) {
    await sendTapes({ postgres, writer, name, folder });
    files.touched('');
  }
  writer.keep(files);
  stack.defer(() => writer.close(CLOSING_MS));
  log.info('homes: opened', { home: name, epoch: lease.epoch, journal: brought, ...fetched });
  let isChanged = false;
  const owned = stack.move();
  return {
    lease,
    writer,
    files,
    brought,
    fetched,
    tapes: new HomeTapes(name, { postgres, writer }),
    resend: () => {
      isChanged = true;
      files.touched('');
    },
    watermark: (db, listeners) => {
      const { version, oldestReader } = schemaOf(db);
      const isBehind = isChanged || lease.claimed.schema < version;
      return new StoredCommits(db, { writer, lease, clock, schema: version, oldestReader, isBehind, ...listeners });
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** The database was put back to an earlier state: it gets all that it does not have any more. */
async function sendAgain({
  postgres,
  writer,
  lease,
  files,
  folder,
  state,
  migrations,
  log,
}: Pick<OpenHomeOptions, 'folder' | 'state' | 'migrations' | 'log'> & {
  readonly postgres: Postgres;
  readonly writer: HomeWriter;
  readonly lease: Lease;
  readonly files: HomeFiles;
}): Promise<Brought> {
  const { name, epoch } = lease;
  using db = await openDatabase({ path: state, migrations, backupPath: null });
  const onStep = (step: string): void => log.info('homes: sent again', { home: name, step });
  await sendHome({ postgres, writer, name, folder, db, files, onStep });
  const { version, oldestReader } = schemaOf(db);
  await writer.also(schemaStatement(name, version, oldestReader));
  db.exec(CACHE_STATE);
  db.prepare('REPLACE INTO cache_state VALUES (1, ?, 0)').run(epoch);
  return 'sent-again';
}

async function claim(
  leases: Leases,
  postgres: Postgres,
  { name, clock, log, signal }: OpenHomeOptions,
): Promise<Lease> {
  for (let tries = 0; ; tries += 1) {
    signal.throwIfAborted();
    const lease = await leases.claim(name);
    if (lease !== null) return lease;
    const found = await readStoredHome(postgres, name);
    if (found !== undefined && found.keptBy !== null) throw keptByFolder(found);
    if (tries === 0) log.info('homes: another gateway runs the home, waiting for it', { home: name });
    await sleep(clock, CLAIM_AGAIN_MS, signal);
  }
}

async function release(lease: Lease, { clock, log }: OpenHomeOptions): Promise<void> {
  using limit = deadline(clock, RELEASE_MS, 'giving the home back');
  try {
    await raceAbort(lease.release(), limit.signal);
  } catch (error) {
    log.warn('homes: a home was not given back', { home: lease.name, reason: errorMessage(error) });
  }
}

function listenersOf({ onTrouble, onHealed }: OpenHomeOptions): Pick<HomeWriterOptions, 'onTrouble' | 'onHealed'> {
  return { ...(onTrouble === undefined ? {} : { onTrouble }), ...(onHealed === undefined ? {} : { onHealed }) };
}
