import type { Program } from '../../core/program.ts';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { HomePaths } from '../../core/config/home.ts';
import type { Moved } from './move.ts';
import { journalMigrations } from '../../core/journal/schema.ts';
import { acquireHomeLock } from '../../core/storage/lock.ts';
import { readStoreAddress } from '../../core/storage/store-address.ts';
import type { Clock } from '../../core/util/clock.ts';
import { AppError } from '../../core/util/errors.ts';
import { silentLog } from '../../core/util/log.ts';
import { placeOf, storedHomeName } from './kept-home.ts';

export interface MoveHome {
  readonly program: Program;
  readonly paths: HomePaths;
  readonly to: 'database' | 'folder';
  /** As the setting `store` has it, with variables resolved. */
  readonly store: string;
  /** The setting has it already. */
  readonly isConfigured: boolean;
  readonly clock: Clock;
  /** Told what is done now, in a few words. */
  readonly onStep: (text: string) => void;
  /** Writes the setting. */
  readonly switchOver: () => Promise<void>;
}

/**
 * Moves a home between its folder and PostgreSQL. Resolves with what was moved and compared; null: it was there. An attempt that
 * was cut off is repeated by another call. A home that was set up and never started is moved too. Throws `no-home`, `home-locked`
 * when an assistant uses the folder, and as `moveIn` and `moveOut`.
 */
export async function moveHome({ program, paths, to, store, isConfigured, ...rest }: MoveHome): Promise<Moved> {
  if (to === 'database' && ![paths.state, paths.config, paths.workspace].some((path) => existsSync(path)))
    throw new AppError('no-home', `There is no home in ${paths.home}. Name it with --home.`);
  const { clock } = rest;
  using _lock = acquireHomeLock(paths.lock, { pid: process.pid, startedAt: clock.now() });
  const options = {
    ...rest,
    url: store,
    leaseMs: readStoreAddress(store).leaseMs,
    name: storedHomeName(paths),
    folder: paths.home,
    state: paths.state,
    sessions: paths.sessions,
    place: placeOf(paths),
    migrations: journalMigrations,
    tables: program.tables,
    backupPath: (from: number) => join(paths.backups, `state-v${from}-${clock.now()}.db`),
    log: silentLog,
  };
  if (to === 'folder') return await (await import('./move-out.ts')).moveOut(options);
  return await (await import('./move-in.ts')).moveIn({ ...options, isConfigured });
}
