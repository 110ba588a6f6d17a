import { existsSync } from 'node:fs';
import { assistantCommand } from '../util/assistant-command.ts';
import { AppError } from '../util/errors.ts';
import { shellWord } from '../util/text.ts';
import type { HomePaths } from './home.ts';
import type { LoadedConfig } from './load.ts';

/** What the folder of a machine that runs many homes may set. */
const OWN = new Set(['$schema', 'store', 'homes', 'gateway', 'log']);

/** Why a folder with `homes.enabled` cannot be that of a machine, with what to do; null: it can, or it does not want to. */
export function machineProblem({ config, written, path }: LoadedConfig, paths: HomePaths): AppError | null {
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

/** Nobody but the gateway of its machine may run it: what is changed there otherwise is replaced by what the database has. */
export function homeOnMachine(home: string, machine: string): AppError {
  return new AppError(
    'home-of-machine',
    `${home} is the copy of a home that gateways of many homes run, and the one of this machine does not run it now. Start it with: ${assistantCommand(`gateway --home ${shellWord(machine)}`)}, or look where the home runs: ${assistantCommand(`status --home ${shellWord(machine)}`)}.`,
  );
}
