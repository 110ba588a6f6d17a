import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { HomePaths } from '../config/home.ts';
import type { Config } from '../config/schema.ts';
import { schemaAt } from '../config/setting.ts';
import { packageFile } from '../config/version.ts';
import { kindOf, programOf, type Program } from '../program.ts';
import { errorMessage } from '../util/errors.ts';
import { journalMigrations } from '../journal/schema.ts';
import { OPERATIONS } from '../gateway/operations/operations.ts';
import { findPlugins, installedBeside, loadPlugin, type LoadedPlugin } from './loader.ts';
import type { Plugin } from './plugin.ts';
import { toJsonSchema } from '../tools/json-schema.ts';
import type { Clock } from '../util/clock.ts';
import { readPluginPins } from './plugin-pins.ts';

/** Where packages of plugins lie: put there by hand, installed there by npm, and beside this program. */
export function pluginFolders(folder: string): readonly string[] {
  const own = packageFile('package.json');
  const beside = own === undefined ? null : installedBeside(dirname(own));
  return [folder, join(folder, 'node_modules'), ...(beside === null ? [] : [beside])];
}

interface Home {
  readonly paths: Pick<HomePaths, 'home' | 'plugins' | 'pluginPins'>;
  readonly config: Pick<Config, 'plugins'>;
  readonly clock: Clock;
}

/**
 * The program with the packages that a home lists and that are as a person agreed to them. `byName`: the name in the
 * configuration is enough where there is no agreement yet, as at a start. Never rejects: a package that can't be loaded is left out,
 * and the running assistant says why.
 */
export async function withPackages(
  program: Program,
  { paths, config, clock }: Home,
  { byName }: { readonly byName: boolean },
): Promise<Program> {
  if (config.plugins.length === 0) return program;
  const found = await findPlugins(pluginFolders(paths.plugins)).catch(() => []);
  let whole = program;
  for (const name of config.plugins) {
    const one = found.find((candidate) => candidate.name === name);
    try {
      requireOwnName(program, name);
      const pins = readPluginPins(paths.pluginPins);
      if (one === undefined || (!byName && !pins.has(name))) continue;
      const loaded = await loadPlugin(one, { clock, showParameters: toJsonSchema, agreed: () => pins.get(name) });
      whole = withPackage(whole, loaded);
    } catch {
      // The host of the running assistant tries it again, and tells.
    }
  }
  return whole;
}

/** Throws one sentence without a full stop where a package has the name of a part of the program: what is said of one would count for both. */
export function requireOwnName({ extensions, packages }: Program, name: string): void {
  if (!packages.has(name) && extensions.some((one) => one.name === name))
    throw new Error('a part of the assistant itself has this name');
}

/** Throws one sentence without a full stop where something of the package exists already, or has no place. */
function withPackage(program: Program, loaded: LoadedPlugin): Program {
  const { name, settings = [], operations = [], channels = [], vendors = [], services = [] } = loaded.plugin;
  const known = new Set<string>([...OPERATIONS, ...program.operations].map((one) => one.name));
  const providers = [
    ...vendors.map(({ api }) => api),
    ...[...vendors, ...services].flatMap(({ presets }) => Object.keys(presets)),
  ];
  const clashes = [
    ...settings.flatMap(({ path }) =>
      schemaAt(program, path.split('.')) === undefined ? [] : [`the setting ${path}`],
    ),
    ...operations.flatMap((one) => (known.has(one.name) ? [`the operation ${one.name}`] : [])),
    ...channels.flatMap(({ kind, config }) =>
      config === undefined || kindOf(program, kind) === undefined ? [] : [`the kind of channel ${kind}`],
    ),
    ...providers
      .filter((one) => Object.hasOwn(program.vendors, one) || program.presets.has(one))
      .map((one) => `the provider ${one}`),
  ];
  if (clashes[0] !== undefined) throw new Error(`it adds ${clashes[0]}, which exists already`);
  requireTables(program, loaded.plugin);
  return programOf(program.extensions, new Map([...program.packages, [name, loaded]]));
}

/** Throws one sentence without a full stop where its tables can't be made beside those that are there. */
function requireTables({ tables }: Program, { tables: own }: Plugin): void {
  if (own === undefined) return;
  using db = new DatabaseSync(':memory:');
  for (const { sql } of [...journalMigrations, ...tables.flatMap(({ migrations }) => migrations)]) db.exec(sql);
  try {
    for (const { sql } of own.migrations) db.exec(sql);
  } catch (error) {
    throw new Error(`its tables can't be made: ${errorMessage(error)}`, { cause: error });
  }
}

/** A package that runs when the assistant was started again. */
export class RestartNeeded extends Error {}

/** Throws one sentence without a full stop where a package has parts that this program lacks, because it was made without it. */
export function requirePartsOf(program: Program, loaded: LoadedPlugin): void {
  const { plugin } = loaded;
  if (!hasStaticParts(plugin) || program.packages.get(plugin.name)?.plugin === plugin) return;
  if (!program.packages.has(plugin.name)) withPackage(program, loaded);
  throw new RestartNeeded('its settings, tables or commands count from the next start on; send /restart');
}

const STATIC = ['settings', 'tables', 'operations', 'vendors', 'services', 'speech', 'cli', 'checks'] as const;

function hasStaticParts(plugin: Plugin): boolean {
  const { channels = [] } = plugin;
  return STATIC.some((part) => plugin[part] !== undefined) || channels.some(({ config }) => config !== undefined);
}
