import { existsSync, readFileSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { resolveHome } from '../config/environment.ts';
import { homePaths } from '../config/home.ts';
import { agentHome, homeOfMachine, hostedHome, machineOf } from '../config/hosted-home.ts';
import type { LoadedConfig } from '../config/load.ts';
import type { HomeOnGateway } from '../gateway/assistant-port.ts';
import { assistantCommand } from '../util/assistant-command.ts';
import { AppError } from '../util/errors.ts';
import { shellWord, switchedOff } from '../util/text.ts';
import type { CliContext } from './context.ts';
import { usageError } from './usage.ts';

/**
 * The home of `--home`, or the one that `--agent` names in it: of a further assistant, or of many in the folder of a machine.
 * Throws one sentence where there is none of that name, and where a command needs a home and the folder is that of a machine.
 */
export async function homeOf(
  { home, agent }: Readonly<Record<string, unknown>>,
  worksOn: 'home' | 'any folder',
  context: CliContext,
): Promise<string | undefined> {
  const named = typeof home === 'string' ? home : undefined;
  const name = typeof agent === 'string' ? agent : null;
  if (name === null && worksOn === 'any folder') return named;
  const main = resolveHome({ flag: named, env: context.env });
  const machine = await machineAt(main, context);
  if (machine !== null && name === null) throw await unnamed(main, context);
  if (name === null) return named;
  if (machine !== null) return await homeOnMachine(name, { main, machine }, context);
  const found = agentHome(main, name);
  if (hostedHome(found)?.name === name && existsSync(found)) return found;
  throw usageError(`${JSON.stringify(name)} is none of the further assistants of ${main}.`);
}

/** Throws one sentence where the extension of a command is switched off in the home that `--home` names. */
export async function requireOn(
  extension: string,
  { home }: Readonly<Record<string, unknown>>,
  context: CliContext,
): Promise<void> {
  const folder = resolveHome({ flag: typeof home === 'string' ? home : undefined, env: context.env });
  const loaded = await configThatSays('extensions', folder, context);
  if (loaded?.config.extensions[extension] === false) throw new AppError('switched-off', `${switchedOff(extension)}.`);
}

/** Its configuration, when a folder is that of a machine with many homes (`homes.enabled`); null: it is not, or cannot be read. */
async function machineAt(folder: string, context: CliContext): Promise<LoadedConfig | null> {
  const loaded = await configThatSays('homes', folder, context);
  return loaded?.config.homes.enabled === true ? loaded : null;
}

/** The configuration of a folder; null: it says nothing of a section, or cannot be read. */
async function configThatSays(
  section: 'homes' | 'extensions',
  folder: string,
  { program, env }: CliContext,
): Promise<LoadedConfig | null> {
  // Reading a configuration takes longer than many commands do.
  const mayBe =
    (env['ASSISTANT_CONFIG'] ?? textOf(homePaths(folder, env).config)).includes(section) ||
    Object.keys(env).some((name) => name.startsWith(`ASSISTANT_${section.toUpperCase()}`));
  if (!mayBe) return null;
  const { loadConfig } = await import('../config/load.ts');
  return await loadConfig({ program, home: folder, env }).catch(() => null);
}

/** Empty where it is no file that can be read; a pipe would be waited for. */
function textOf(path: string): string {
  try {
    return statSync(path).isFile() ? readFileSync(path, 'utf8') : '';
  } catch {
    return '';
  }
}

async function unnamed(main: string, context: CliContext): Promise<AppError> {
  const { nameHome } = await import('../gateway/assistant-port.ts');
  return new AppError('name-a-home', nameHome(main, (await homesOn(main, context)) ?? []));
}

/** The homes of the gateway that runs there; undefined: none runs. */
async function homesOn(main: string, { connect, env }: CliContext): Promise<readonly HomeOnGateway[] | undefined> {
  await using running = await connect(homePaths(main, env).socket);
  return (await running?.call('info', {}))?.homes;
}

/** The copy of a home that runs on a machine, or that no other gateway runs and the machine has. */
async function homeOnMachine(
  name: string,
  { main, machine }: { readonly main: string; readonly machine: LoadedConfig },
  context: CliContext,
): Promise<string> {
  const homes = await homesOn(main, context);
  const folder = homeOfMachine(main, name);
  const hasCopy = basename(folder) === name && machineOf(folder) !== null && existsSync(folder);
  if (hasCopy && homes?.some((one) => one.name === name && one.state !== 'waiting') === true) return folder;
  const { placeOf, readFleetReport, runsHome } = await import('../../host/homes/fleet-report.ts');
  const { trouble = null, homes: known = [] } = (await readFleetReport(machine, context.clock)) ?? {};
  const stored = known.find((one) => one.name === name);
  // The lease of a gateway of this folder that was killed lasts for some seconds.
  if (stored?.isHeld === true && stored.gateway !== placeOf({ home: main }))
    throw new AppError('home-elsewhere', `${runsHome(stored)} Run the command on that machine.`);
  if (hasCopy) return folder;
  if (trouble !== null) throw new AppError('home-elsewhere', `${main} has no copy of the home ${name}. ${trouble}`);
  if (stored !== undefined)
    throw new AppError(
      'home-elsewhere',
      `No gateway runs the home ${name} now, and ${main} has no copy of it. Look how it is with: ${assistantCommand(`status --home ${shellWord(main)}`)}`,
    );
  const { homesHere } = await import('../gateway/assistant-port.ts');
  throw usageError(`The database has no home ${JSON.stringify(name)}. ${homesHere(homes ?? [])}`);
}
