import { megabytes } from '../util/text.ts';
import type { CliContext } from './context.ts';
import { textFlag } from './flags.ts';
import { pathsOf } from './open.ts';
import { json } from './format.ts';

/** `assistant store vacuum`: makes the databases of a home smaller while no assistant runs. */
export async function storeVacuumCommand(
  flags: Readonly<Record<string, unknown>>,
  context: CliContext,
): Promise<number> {
  const { vacuumHome } = await context.app();
  const done = await vacuumHome(pathsOf(context, textFlag(flags, 'home')), context.clock);
  const lines = Object.entries(done).map(
    ([name, { before, after }]) => `${name}: ${megabytes(before)} before, ${megabytes(after)} now`,
  );
  context.stdout.write(`${flags['json'] === true ? json(done) : lines.join('\n')}\n`);
  return 0;
}
