import { megabytes } from '../../util/text.ts';
import type { CliContext } from '../context.ts';
import { pathsOf } from '../open.ts';
import { print } from '../format.ts';
import type { OutputFlags } from '../table/command.ts';

/** `assistant store vacuum`: makes the databases of a home smaller while no assistant runs. */
export async function storeVacuumCommand({ home, json }: OutputFlags, context: CliContext): Promise<number> {
  const { vacuumHome } = await context.app();
  const done = await vacuumHome(pathsOf(context, home), context.clock);
  const lines = Object.entries(done).map(
    ([name, { before, after }]) => `${name}: ${megabytes(before)} before, ${megabytes(after)} now`,
  );
  print(context, json, { facts: done, lines });
  return 0;
}
