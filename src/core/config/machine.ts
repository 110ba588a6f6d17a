import { existsSync } from 'node:fs';
import { assistantCommand } from '../util/assistant-command.ts';
import { AppError } from '../util/errors.ts';
import { shellWord } from '../util/text.ts';
import type { HomePaths } from './home.ts';
import { machineOf } from './hosted-home.ts';
import type { LoadedConfig } from './load.ts';

/** What the folder of a machine that runs many homes may set. */
const OWN = new Set(['$schema', 'store', 'homes', 'gateway', 'log']);

/**
 * Why no assistant may be started in a folder by itself, with what to do: it is the copy of a home that a machine runs, or it wants to be
 * the folder of a machine (`homes.enabled`) and cannot; null: one may.
 */
export function machineProblem({ config, written, path }: LoadedConfig, paths: HomePaths): AppError | null {
  const copied = copyProblem(paths);
  if (copied !== null) return copied;
  if (!config.homes.enabled) return null;
  if (config.store === null)
    return refused(
      `homes.enabled is true in ${path}, and no database is named that keeps the homes. Set store to its address.`,
    );
  const others = Object.keys(written).filter((section) => !OWN.has(section));
  if (others.length > 0)
    return refused(
      `homes.enabled is true in ${path}, so ${paths.home} is the folder of a machine, and ${others.join(', ')} there would be for nobody. Take ${others.length === 1 ? 'it' : 'them'} out; each home has settings of its own in ${paths.home}/homes/NAME/config.json.`,
    );
  if (existsSync(paths.state))
    return refused(
      `homes.enabled is true in ${path}, and ${paths.home} has a home of its own. Choose an empty folder for the machine; a home is moved into the database with \`store migrate\`.`,
    );
  return null;
}

function refused(sentence: string): AppError {
  return new AppError('config-invalid', sentence, { exitCode: 78 });
}

/** Why nothing may be done by itself in the copy of a home that no gateway runs: the database has that home, and replaces it. Null: it is none. */
export function copyProblem({ home }: Pick<HomePaths, 'home'>): AppError | null {
  const machine = machineOf(home);
  if (machine === null) return null;
  return new AppError(
    'home-of-machine',
    `${home} is the copy of a home that gateways of many homes run, and the one of this machine does not run it now. Start it with: ${assistantCommand(`gateway --home ${shellWord(machine)}`)}, or look where the home runs: ${assistantCommand(`status --home ${shellWord(machine)}`)}.`,
  );
}
