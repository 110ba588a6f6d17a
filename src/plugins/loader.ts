import { readdir, readFile, realpath } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import * as z from 'zod';
import { deadline, raceAbort, type Clock } from '../util/clock.ts';
import { errorCode } from '../util/errors.ts';
import { thrownLine } from '../util/misfit.ts';
import type { Plugin } from './plugin.ts';
import { readPlugin, type ShowParameters } from './shape.ts';

/** A package in the folder of plugins. */
export interface FoundPlugin {
  readonly name: string;
  readonly version: string;
  /** What is imported; it lies in the package. */
  readonly file: string;
}

export interface LoadedPlugins {
  /** Every package, whether it runs or not. */
  readonly found: readonly FoundPlugin[];
  /** Those that run, by the name of their package, in the order of the configuration. */
  readonly running: ReadonlyMap<string, Plugin>;
  /** One sentence for each that does not run though it is listed. */
  readonly troubles: readonly string[];
}

export interface LoadPorts {
  readonly clock: Clock;
  readonly showParameters: ShowParameters;
}

const packageFile = z.object({
  name: z.string().min(1),
  version: z.string().default(''),
  assistant: z.object({ plugin: z.string().min(1) }),
});

/** A package that has not loaded by then does not run. */
const LOAD_MS = 20_000;

/** The packages in a folder that say in their package.json that they are plugins (`"assistant": {"plugin": FILE}`). */
async function findPlugins(folder: string): Promise<readonly FoundPlugin[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return [];
    throw error;
  });
  const found: FoundPlugin[] = [];
  for (const name of names.toSorted((a, b) => (a < b ? -1 : 1))) {
    const plugin = await readPackage(join(folder, name)).catch(() => null);
    if (plugin !== null) found.push(plugin);
  }
  return found;
}

/** Imports the packages that are listed, and no other. Never throws. */
export async function loadPlugins(folder: string, listed: readonly string[], ports: LoadPorts): Promise<LoadedPlugins> {
  const found = await findPlugins(folder);
  const running = new Map<string, Plugin>();
  const troubles: string[] = [];
  for (const name of listed) {
    const one = found.find((candidate) => candidate.name === name);
    try {
      if (one === undefined) throw new Error(`there is no such package in ${folder}`);
      running.set(name, await importPlugin(one, ports));
    } catch (error) {
      troubles.push(`The plugin "${name}" does not run: ${thrownLine(error)}.`);
    }
  }
  return { found, running, troubles };
}

async function readPackage(folder: string): Promise<FoundPlugin> {
  const { name, version, assistant } = packageFile.parse(
    JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')),
  );
  const home = await realpath(folder);
  const file = await realpath(join(folder, assistant.plugin));
  if (!file.startsWith(home + sep)) throw new Error('the plugin lies outside its package');
  return { name, version, file };
}

async function importPlugin({ name, file }: FoundPlugin, { clock, showParameters }: LoadPorts): Promise<Plugin> {
  using limit = deadline(clock, LOAD_MS, 'loading it');
  const module: unknown = await raceAbort(import(pathToFileURL(file).href), limit.signal);
  const exported = typeof module === 'object' && module !== null && 'default' in module ? module.default : undefined;
  return readPlugin(exported, { owner: name, showParameters });
}
