import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

const FOLDER = 'agents';
const NAME = /^[a-z\d][a-z\d_-]*$/u;

/** A home that lies in the home of another assistant, which gives it its channels. */
export interface HostedHome {
  /** The home of the main assistant. */
  readonly host: string;
  readonly name: string;
}

/** The folder with the homes of the further assistants of a home. */
export function agentsFolder(home: string): string {
  return join(home, FOLDER);
}

/** The home of a further assistant. */
export function agentHome(home: string, name: string): string {
  return join(home, FOLDER, name);
}

/** Which home this one lies in, by its place: `…/agents/NAME` below a home; null: it is nobody's. */
export function hostedHome(home: string): HostedHome | null {
  const folder = dirname(home);
  const name = basename(home);
  if (basename(folder) !== FOLDER || !NAME.test(name)) return null;
  const host = dirname(folder);
  const isHome = existsSync(join(host, 'workspace')) && ['state.db', 'lock'].some((one) => existsSync(join(host, one)));
  return isHome ? { host, name } : null;
}

const HOMES = 'homes';
const STORE = 'store.json';

/** The folder of a home in that of a machine that runs many. */
export function homeOfMachine(machine: string, name: string): string {
  return join(machine, HOMES, name);
}

/** The folder of the machine that a home lies in, by its place: `…/homes/NAME`; null: it lies in none. */
export function machineOf(home: string): string | null {
  const folder = dirname(home);
  if (basename(folder) !== HOMES) return null;
  const machine = dirname(folder);
  return isMachine(machine) ? machine : null;
}

/** Whether a gateway of many homes was started in a folder. */
export function isMachine(folder: string): boolean {
  try {
    const mark: unknown = JSON.parse(readFileSync(join(folder, STORE), 'utf8'));
    return isMachineMark(mark);
  } catch {
    return false;
  }
}

/** In the folder of a machine the place of the folder stands where the name of a home does otherwise. */
function isMachineMark(mark: unknown): boolean {
  return (
    typeof mark === 'object' &&
    mark !== null &&
    'home' in mark &&
    typeof mark.home === 'string' &&
    mark.home.startsWith('/')
  );
}
