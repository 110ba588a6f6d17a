import { failed, type Finding } from '../util/finding.ts';
import { existsSync } from 'node:fs';
import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { registerHooks } from 'node:module';
import { basename, join, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import * as z from 'zod';
import { assistantCommand } from '../util/assistant-command.ts';
import { deadline, raceAbort, type Clock } from '../util/clock.ts';
import { errorCode } from '../util/errors.ts';
import { thrownLine } from '../util/misfit.ts';
import { fingerprintOf } from './fingerprint.ts';
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
  /** Names of its tools that only read, as its package.json says. */
  readonly readOnlyTools: readonly string[];
}

/** A plugin that runs, and the package that it was loaded from. */
export interface LoadedPlugin {
  readonly plugin: Plugin;
  readonly folder: string;
  /** Of the package as it was loaded. */
  readonly fingerprint: string;
  readonly readOnlyTools: readonly string[];
}

export interface LoadPorts {
  readonly clock: Clock;
  readonly showParameters: ShowParameters;
  /** The fingerprint that a person agreed to; undefined: the name in the configuration is all that they said. */
  readonly agreed: (found: FoundPlugin) => string | undefined;
}

const packageFile = z.object({
  name: z.string().min(1),
  version: z.string().default(''),
  assistant: z.object({ plugin: z.string().min(1), readOnlyTools: z.array(z.string()).default([]) }),
});

/** The name of this package, by which plugins import `defineTool`, `definePlugin` and `z`. */
const HOST = 'assistantd';

/** Timeout for the import of one plugin. */
const LOAD_MS = 20_000;

/** The query of a module's address that names the state of its package, so that a changed package is loaded anew. */
const STATE = '?package=';

/**
 * Finds the packages in some folders whose package.json marks them as plugins: `"assistant": {"plugin": FILE}`. Of two with one
 * name the one in the earlier folder counts.
 */
export async function findPlugins(folders: readonly string[]): Promise<readonly FoundPlugin[]> {
  const found = new Map<string, FoundPlugin>();
  for (const folder of folders) {
    for (const name of await packagesIn(folder)) {
      const plugin = await readPackage(join(folder, name)).catch(() => null);
      if (plugin !== null && !found.has(plugin.name)) found.set(plugin.name, plugin);
    }
  }
  return [...found.values()];
}

/** Imports one plugin. Throws one sentence without a full stop when it cannot, or when its package is not as agreed to. */
export async function loadPlugin(found: FoundPlugin, ports: LoadPorts): Promise<LoadedPlugin> {
  const { name, folder, readOnlyTools } = found;
  const fingerprint = await fingerprintOf(folder);
  const agreed = ports.agreed(found);
  if (agreed !== undefined && agreed !== fingerprint) {
    const command = assistantCommand(`plugins add ${name}`);
    throw new Error(`its package was changed since you agreed to it; look at it, then run: ${command}`);
  }
  giveHost(folder);
  return { plugin: await importPlugin(found, fingerprint, ports), folder, fingerprint, readOnlyTools };
}

async function packagesIn(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return [];
    throw error;
  });
  const packages: string[] = [];
  for (const name of names.toSorted((a, b) => (a < b ? -1 : 1))) {
    if (name.startsWith('.') || name === 'node_modules') continue;
    if (!name.startsWith('@')) packages.push(name);
    else packages.push(...(await readdir(join(folder, name)).catch(() => [])).map((inner) => join(name, inner)));
  }
  return packages;
}

/** What lies in the folder of a plugin and imports this package gets the one that runs, installed or not. */
function giveHost(folder: string): void {
  if (hosted.has(folder)) return;
  hosted.add(folder);
  const inside = pathToFileURL(folder + sep).href;
  // The bundle's file, or that of the source.
  const host = ['./app.js', '../../app.ts']
    .map((path) => new URL(path, import.meta.url))
    .find((url) => existsSync(url));
  registerHooks({
    resolve: (specifier, context, next) => {
      const { parentURL = '' } = context;
      if (!parentURL.startsWith(inside)) return next(specifier, context);
      if (specifier === HOST && host !== undefined) return { url: host.href, shortCircuit: true };
      const resolved = next(specifier, context);
      const state = parentURL.split(STATE)[1];
      const isOwn = resolved.url.startsWith(inside) && !resolved.url.includes('/node_modules/', inside.length);
      return state !== undefined && isOwn && !resolved.url.includes('?') && context.conditions.includes('import')
        ? { ...resolved, url: resolved.url + STATE + state }
        : resolved;
    },
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
  return { name, version, folder: home, file, readOnlyTools: assistant.readOnlyTools };
}

async function importPlugin(
  { name, folder, file }: FoundPlugin,
  fingerprint: string,
  { clock, showParameters }: LoadPorts,
): Promise<Plugin> {
  using limit = deadline(clock, LOAD_MS, 'loading it');
  const address = pathToFileURL(file).href + STATE + fingerprint.slice(0, 16);
  const module: unknown = await raceAbort(import(address), limit.signal);
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

/** The sentence for a plugin that was not loaded. */
export function notRunning(name: string, error: unknown): Finding {
  const says = `The plugin ${JSON.stringify(name)} does not run: ${thrownLine(error)}.`;
  return { id: 'plugins.there', ...failed(says), facts: { plugin: name } };
}

/** The folder beside a package that npm installed it to, with other packages; null where it is no such folder. */
export function installedBeside(packageFolder: string): string | null {
  const folder = join(packageFolder, '..');
  return basename(folder) === 'node_modules' ? folder : null;
}
