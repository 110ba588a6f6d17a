import { existsSync } from 'node:fs';
import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { registerHooks } from 'node:module';
import { join, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import * as z from 'zod';
import { deadline, raceAbort, type Clock } from '../util/clock.ts';
import { errorCode } from '../util/errors.ts';
import { thrownLine } from '../util/misfit.ts';
import type { Plugin } from './plugin.ts';
import { readPlugin, type ShowParameters } from './shape.ts';

/** A plugin package that was found on disk. */
export interface FoundPlugin {
  readonly name: string;
  readonly version: string;
  /** Real path of the package. */
  readonly folder: string;
  /** Absolute path of the module to import; always inside the package. */
  readonly file: string;
}

export interface LoadedPlugins {
  /** Every plugin package in the folder, whether it runs or not. */
  readonly found: readonly FoundPlugin[];
  /** The plugins that were loaded, by package name, in the order of the configuration. */
  readonly running: ReadonlyMap<string, Plugin>;
  /** One sentence for each plugin that is listed in the configuration and could not be loaded. */
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

/** The name of this package, by which plugins import `defineTool`, `definePlugin` and `z`. */
const HOST = 'assistantd';

/** Timeout for the import of one plugin. */
const LOAD_MS = 20_000;

/** Finds the packages in a folder whose package.json marks them as plugins: `"assistant": {"plugin": FILE}`. */
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

/**
 * Imports the listed plugins; others are found but not imported. A plugin that fails gives a sentence in `troubles`. Rejects only
 * when the folder cannot be read.
 */
export async function loadPlugins(folder: string, listed: readonly string[], ports: LoadPorts): Promise<LoadedPlugins> {
  const found = await findPlugins(folder);
  if (listed.length > 0) giveHost(await realpath(folder).catch(() => folder));
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

/** What lies in the folder of plugins and imports this package gets the one that runs, installed or not. */
function giveHost(folder: string): void {
  if (hosted.has(folder)) return;
  hosted.add(folder);
  const inside = pathToFileURL(folder + sep).href;
  // The bundle's file, or that of the source.
  const host = ['./app.js', '../app.ts'].map((path) => new URL(path, import.meta.url)).find((url) => existsSync(url));
  registerHooks({
    resolve: (specifier, context, next) =>
      specifier === HOST && host !== undefined && context.parentURL?.startsWith(inside) === true
        ? { url: host.href, shortCircuit: true }
        : next(specifier, context),
  });
}

/** Folders of plugins that this process gives itself to; the hooks of Node are the process's. */
const hosted = new Set<string>();

async function readPackage(folder: string): Promise<FoundPlugin> {
  const { name, version, assistant } = packageFile.parse(
    JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')),
  );
  const home = await realpath(folder);
  const file = await realpath(join(folder, assistant.plugin));
  if (!file.startsWith(home + sep)) throw new Error('the plugin lies outside its package');
  return { name, version, folder: home, file };
}

async function importPlugin(
  { name, folder, file }: FoundPlugin,
  { clock, showParameters }: LoadPorts,
): Promise<Plugin> {
  using limit = deadline(clock, LOAD_MS, 'loading it');
  const module: unknown = await raceAbort(import(pathToFileURL(file).href), limit.signal);
  const exported = typeof module === 'object' && module !== null && 'default' in module ? module.default : undefined;
  const plugin = readPlugin(exported, { owner: name, showParameters });
  return plugin.skills === undefined ? plugin : { ...plugin, skills: await skillsIn(folder, plugin.skills) };
}

/** The real path of a package's folder of skills. Throws one sentence without a full stop when it is none. */
async function skillsIn(folder: string, path: string): Promise<string> {
  const real = await realpath(join(folder, path)).catch(() => null);
  if (real === null || !(await stat(real)).isDirectory())
    throw new Error(`skills: ${path} is not a folder of the package`);
  if (!real.startsWith(folder + sep)) throw new Error(`skills: ${path} lies outside the package`);
  return real;
}
