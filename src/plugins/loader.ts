import { readdir, readFile, realpath } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import * as z from 'zod';
import { errorCode, errorMessage } from '../util/errors.ts';
import type { Plugin } from './plugin.ts';

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

const packageFile = z.object({
  name: z.string().min(1),
  version: z.string().default(''),
  assistant: z.object({ plugin: z.string().min(1) }),
});

const isFunction = z.custom<(...given: readonly unknown[]) => unknown>((value) => typeof value === 'function');
const pluginShape = z.object({
  name: z.string().min(1),
  channels: z.array(z.looseObject({ kind: z.string().min(1), shows: z.string(), open: isFunction })).optional(),
  tools: z.array(z.looseObject({ name: z.string().min(1), execute: isFunction })).optional(),
  hooks: z.record(z.string(), isFunction).optional(),
});

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
export async function loadPlugins(folder: string, listed: readonly string[]): Promise<LoadedPlugins> {
  const found = await findPlugins(folder);
  const running = new Map<string, Plugin>();
  const troubles: string[] = [];
  for (const name of listed) {
    const one = found.find((candidate) => candidate.name === name);
    try {
      if (one === undefined) throw new Error(`there is no such package in ${folder}`);
      running.set(name, await importPlugin(one.file));
    } catch (error) {
      troubles.push(`The plugin "${name}" does not run: ${errorMessage(error)}.`);
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

async function importPlugin(file: string): Promise<Plugin> {
  const module: unknown = await import(pathToFileURL(file).href);
  const exported = typeof module === 'object' && module !== null && 'default' in module ? module.default : undefined;
  const shape = pluginShape.safeParse(exported);
  if (!shape.success) {
    const path = shape.error.issues[0]?.path.join('.') ?? '';
    throw new Error(`its default export is no plugin${path === '' ? '' : ` (${path})`}`);
  }
  // Checked as far as it can be: what a function takes only shows when it is called.
  return exported as Plugin;
}
