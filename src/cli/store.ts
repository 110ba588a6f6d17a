import { existsSync } from 'node:fs';
import { acquireHomeLock } from '../storage/lock.ts';
import { megabytes, vacuumDatabase, type Vacuumed } from '../storage/vacuum.ts';
import { AppError } from '../util/errors.ts';
import type { CliContext } from './context.ts';
import { textFlag } from './flags.ts';
import { pathsOf } from './open.ts';

/** `assistant store vacuum`: makes the databases of a home smaller while no assistant runs. */
export async function storeVacuumCommand(
  flags: Readonly<Record<string, unknown>>,
  context: CliContext,
): Promise<number> {
  const paths = pathsOf(context, textFlag(flags, 'home'));
  if (!existsSync(paths.state)) {
    throw new AppError('no-store', `There is no journal at ${paths.state}. Name the home with --home.`);
  }
  using _lock = acquireHomeLock(paths.lock, { pid: process.pid, startedAt: context.clock.now() });
  const done: Record<string, Vacuumed> = { 'state.db': await vacuumDatabase(paths.state) };
  if (existsSync(paths.search)) done['search.db'] = await vacuumDatabase(paths.search);
  const lines = Object.entries(done).map(
    ([name, { before, after }]) => `${name}: ${megabytes(before)} before, ${megabytes(after)} now`,
  );
  context.stdout.write(`${flags['json'] === true ? JSON.stringify(done, null, 2) : lines.join('\n')}\n`);
  return 0;
}
