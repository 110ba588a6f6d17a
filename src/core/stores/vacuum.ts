import { existsSync } from 'node:fs';
import type { HomePaths } from '../config/home.ts';
import { acquireHomeLock } from '../storage/lock.ts';
import { vacuumDatabase, type Vacuumed } from '../storage/vacuum.ts';
import type { Clock } from '../util/clock.ts';
import { AppError } from '../util/errors.ts';

/** Makes the databases of a home smaller, by their names. Throws when an assistant uses the home or there is none. */
export async function vacuumHome(paths: HomePaths, clock: Clock): Promise<Readonly<Record<string, Vacuumed>>> {
  if (!existsSync(paths.state)) {
    throw new AppError('no-store', `There is no journal at ${paths.state}. Name the home with --home.`);
  }
  using _lock = acquireHomeLock(paths.lock, { pid: process.pid, startedAt: clock.now() });
  return {
    'state.db': await vacuumDatabase(paths.state),
    ...(existsSync(paths.search) ? { 'search.db': await vacuumDatabase(paths.search) } : {}),
  };
}
