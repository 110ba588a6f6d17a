import { existsSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import type { CommitWatermark, WatermarkListeners } from '../../core/storage/commit-sync.ts';
import { ensureDirectory } from '../../core/storage/files.ts';
import { type Migration, type SchemaPart, openDatabase, schemaOf } from '../../core/storage/open-database.ts';
import { bootId } from '../../core/util/boot-id.ts';
import { type Clock, deadline, raceAbort } from '../../core/util/clock.ts';
import { errorMessage } from '../../core/util/errors.ts';
import type { Logger } from '../../core/util/log.ts';
import { HomeFiles } from './file-changes.ts';
import { bringFiles, bringNothing, type Fetched } from './files-cache.ts';
import { HomeTapes } from './home-tapes.ts';
import { HomeWriter, type HomeWriterOptions } from './home-writer.ts';
import type { HomeStore } from './home-store.ts';
import { bringJournal, CACHE_STATE, withoutOldEpochs, type Brought } from './journal-cache.ts';
import { journalTables } from './journal-tables.ts';
import type { Lease } from './lease.ts';
import { isIntact, readMark, writeMark } from './mark.ts';
import type { Postgres } from './postgres.ts';
import { openSeal, seal } from './seal.ts';
import { installSchema } from './schema.ts';
import { sendHome, sendTapes } from './send-home.ts';
import { homeForeign, homeIncomplete } from './stored-home.ts';
import { schemaStatement } from './statements.ts';
import { StoredCommits } from './stored-commits.ts';

export interface OpenHomeOptions extends Pick<HomeWriterOptions, 'onTrouble' | 'onHealed'> {
  /** What it is kept in; many homes share it. */
  readonly store: Pick<HomeStore, 'id' | 'owner' | 'postgres'>;
  /** Given back when opening fails, and when the home is closed. */
  readonly lease: Lease;
  /** Absolute paths: the home's folder, its journal, the folder with its tapes. */
  readonly folder: string;
  readonly state: string;
  readonly sessions: string;
  /** Which settings the home has: `own`: those of the folder, which are sent; `stored`: those that PostgreSQL has. */
  readonly config: 'own' | 'stored';
  /** Of the journal. */
  readonly migrations: readonly Migration[];
  /** Further tables of the journal. */
  readonly tables: readonly SchemaPart[];
  readonly clock: Clock;
  readonly log: Logger;
  /** The kernel's id of this boot. @default `bootId()` */
  readonly boot?: string | null;
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

const NOTHING: Fetched = { files: 0, bytes: 0 };
/** How long closing waits until it is noted that the copy is whole. */
const SEAL_MS = 1_000;
/** How long closing waits for what is left to be written. */
const CLOSING_MS = 3_000;
/** How long giving the home back may take; without that the next gateway waits until the lease has ended. */
const RELEASE_MS = 1_000;

/**
 * Makes the folder the copy of a home that was claimed. A home that PostgreSQL does not have yet is written there as it lies in
 * the folder. The lock of the folder must be held. Disposing writes what is left and gives the home back. Throws
 * `home-lost` when another gateway claims it meanwhile, `home-without-settings` when it is to get settings that PostgreSQL does not have, `home-foreign` when the folder holds a home of its own and `home-incomplete`
 * when what PostgreSQL has was never finished; and as `Postgres` does.
 */
export async function openHome(options: OpenHomeOptions): Promise<OpenHome> {
  const { store, lease, folder, clock, log, migrations, tables, state } = options;
  const { postgres, owner } = store;
  const { name } = lease;
  await using stack = new AsyncDisposableStack();
  stack.defer(() => release(lease, options));
  const mark = await readMark(folder);
  const isCopy = mark?.store === store.id && mark.home === name;
  const boot = options.boot === undefined ? bootId() : options.boot;
  const place = { folder, state, boot };
  const isWhole = isIntact(isCopy ? mark : undefined, boot);
  const ours = { store: store.id, home: name, owner, ...(boot === null ? {} : { boot }) };
  const onRewound = (): Promise<void> => writeMark(folder, { ...ours, ahead: lease.epoch });
  const writer = new HomeWriter({ postgres, lease, clock, log, onRewound, ...listenersOf(options) });
  const files = new HomeFiles({ postgres, lease, name, folder });
  const isNew = lease.claimed.schema === 0;
  if (isNew && lease.claimed.revision > 0 && !existsSync(state)) throw homeIncomplete(name);
  if (!isNew && !isCopy && existsSync(state)) throw homeForeign({ folder, name });
  await ensureDirectory(folder);
  // No one claimed the home since the database was found to be behind this copy.
  const isAhead = isCopy && mark.ahead === lease.epoch - 1 && existsSync(state);
  const unchanged = await openSeal(place, lease);
  // Until it is rebuilt, a copy of another boot stays one.
  const before = isWhole ? ours : { ...ours, boot: mark?.boot };
  await writeMark(folder, isAhead ? { ...before, ahead: lease.epoch } : before);
  const { fetched, brought } = await orLost(lease, async (): Promise<Pick<OpenHome, 'fetched' | 'brought'>> => {
    const parts = { ...options, postgres, writer, lease, files };
    if (isAhead) return { fetched: NOTHING, brought: await sendAgain(parts) };
    if (unchanged !== null && isCopy) return { fetched: await bringNothing(parts, unchanged), brought: 'unchanged' };
    return {
      fetched: isNew ? NOTHING : await bringFiles(parts),
      brought: await bringJournal({ postgres, lease, path: state, migrations, tables, isIntact: isWhole }),
    };
  });
  if (isAhead || !isWhole) await writeMark(folder, ours);
  if (isNew) {
    await sendTapes({ postgres, writer, name, folder });
    files.touched('');
  }
  writer.keep(files);
  const tapes = new HomeTapes(name, { postgres, writer });
  stack.defer(() => sealCopy(place, { ...options, postgres, writer, files, tapes }));
  stack.defer(() => writer.close(CLOSING_MS));
  writer.also(...withoutOldEpochs(lease)).catch(() => {});
  log.info('homes: opened', { home: name, epoch: lease.epoch, journal: brought, ...fetched });
  let isChanged = false;
  const owned = stack.move();
  return {
    lease,
    writer,
    files,
    brought,
    fetched,
    tapes,
    resend: () => {
      isChanged = true;
      files.touched('');
    },
    watermark: (db, listeners) => {
      const { version, oldestReader } = schemaOf(db);
      const isBehind = isChanged || lease.claimed.schema < version;
      const facts = { schema: version, oldestReader, isBehind, isSynced: boot === null };
      return new StoredCommits(db, { writer, lease, clock, ...facts, ...listeners });
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Without a seal the next start compares the copy. */
async function sealCopy(
  place: Parameters<typeof seal>[0],
  parts: Parameters<typeof seal>[1] & Pick<OpenHomeOptions, 'clock' | 'log'>,
): Promise<void> {
  using limit = deadline(parts.clock, SEAL_MS, 'sealing the copy');
  try {
    await raceAbort(seal(place, parts), limit.signal);
  } catch (error) {
    parts.log.debug('homes: a copy was not sealed', { home: parts.lease.name, reason: errorMessage(error) });
  }
}

/** Fails as lost when another gateway claims the home meanwhile: what was read may be a mixture then, and is nobody's damage. */
async function orLost<T>(lease: Lease, work: () => Promise<T>): Promise<T> {
  const [result] = await Promise.allSettled([work()]);
  await lease.renew().catch(() => {});
  lease.lost.throwIfAborted();
  if (result.status === 'rejected') throw result.reason;
  return result.value;
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
  tables: parts,
  log,
}: Pick<OpenHomeOptions, 'folder' | 'state' | 'migrations' | 'tables' | 'log'> & {
  readonly postgres: Postgres;
  readonly writer: HomeWriter;
  readonly lease: Lease;
  readonly files: HomeFiles;
}): Promise<Brought> {
  const { name, epoch } = lease;
  using db = await openDatabase({ path: state, migrations, parts, backupPath: null });
  // It may be of a time when it did not have all of them.
  await installSchema(postgres, journalTables(db));
  const onStep = (step: string): void => log.info('homes: sent again', { home: name, step });
  await sendHome({ postgres, writer, name, folder, db, files, onStep });
  const { version, oldestReader } = schemaOf(db);
  await writer.also(schemaStatement(name, version, oldestReader));
  db.exec(CACHE_STATE);
  db.prepare('REPLACE INTO cache_state VALUES (1, ?, 0)').run(epoch);
  return 'sent-again';
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
