import { stat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import type { HookSet } from '../agent/hooks/hooks.ts';
import type { Plugin } from './plugin.ts';
import { readPlugin } from './shape.ts';
import { toJsonSchema } from '../tools/json-schema.ts';
import { AppError } from '../util/errors.ts';
import { thrownLine } from '../util/misfit.ts';
import type { Given } from '../library/assistant.ts';
import type { Clash } from './contributions.ts';

/** The name under which warnings speak of a program's own tools, providers and hooks. */
const PROGRAM = 'program';

/** The plugins of a program, each checked as those of packages. Throws `settings-invalid` with one sentence that names the field. */
export async function readGiven({ tools, providers, hooks, plugins = [] }: Given): Promise<readonly Plugin[]> {
  const own = { tools, providers, ...(isSets(hooks) ? {} : { hooks }) };
  const bare = Object.values(own).every((part) => part === undefined);
  const read: Plugin[] = bare ? [] : [readOne({ name: PROGRAM, ...own }, { name: PROGRAM, at: PROGRAM })];
  for (const [n, plugin] of plugins.entries()) read.push(await readListed(plugin, n));
  const names = read.map(({ name }) => name);
  const twice = names.find((name, n) => names.indexOf(name) !== n);
  if (twice !== undefined) throw invalid(`two plugins have the name ${JSON.stringify(twice)}`);
  return read;
}

/** The sets of hooks that are registered as they are. */
export function hookSetsOf({ hooks }: Given): readonly HookSet[] {
  return isSets(hooks) ? hooks : [];
}

/** Throws `settings-invalid` where something that a program brings would not be used, because it exists already. */
export function requireFree([clash]: readonly Clash[]): void {
  if (clash !== undefined) throw invalid(`${clash.what} exists already; give yours another name`);
}

async function readListed(plugin: Plugin, n: number): Promise<Plugin> {
  const at = `plugins[${n}]`;
  const name: unknown = typeof plugin === 'object' && plugin !== null ? plugin.name : undefined;
  const read = readOne(plugin, { name: typeof name === 'string' ? name : at, at });
  const { skills } = read;
  if (skills === undefined) return read;
  const isFolder =
    isAbsolute(skills) &&
    (await stat(skills).then(
      (found) => found.isDirectory(),
      () => false,
    ));
  if (!isFolder)
    throw invalid(`${at}.skills must be the absolute path of a folder, but ${JSON.stringify(skills)} was given`);
  return read;
}

function readOne(plugin: unknown, { name, at }: { readonly name: string; readonly at: string }): Plugin {
  try {
    return readPlugin(plugin, { owner: name, showParameters: toJsonSchema, at });
  } catch (error) {
    const line = thrownLine(error);
    throw invalid(name === PROGRAM || line.startsWith(at) ? line.replace(/^program\./u, '') : `${at}: ${line}`, error);
  }
}

function isSets(hooks: Given['hooks']): hooks is readonly HookSet[] {
  return Array.isArray(hooks);
}

function invalid(line: string, cause?: unknown): AppError {
  return new AppError('settings-invalid', `createAssistant: ${line}.`, cause === undefined ? {} : { cause });
}
