import { megabytes } from '../../core/util/text.ts';
import type { CliContext } from '../../core/cli/context.ts';
import { pathsOf } from '../../core/cli/open.ts';
import { print } from '../../core/cli/print.ts';
import { openProgress } from '../../core/cli/progress.ts';
import type { OutputFlags } from '../../core/cli/command.ts';

/** `assistant store vacuum`: makes the databases of a home smaller while no assistant runs. */
export async function storeVacuumCommand({ home, json }: OutputFlags, context: CliContext): Promise<number> {
  const { vacuumHome } = await context.app();
  using progress = openProgress(context);
  progress.show('The databases are made smaller');
  const done = await vacuumHome(pathsOf(context, home), context.clock);
  progress.hide();
  const lines = Object.entries(done).map(
    ([name, { before, after }]) => `${name}: ${megabytes(before)} before, ${megabytes(after)} now`,
  );
  print(context, json, { facts: done, lines });
  return 0;
}
