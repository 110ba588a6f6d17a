import { existsSync } from 'node:fs';
import { readdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join, resolve, sep } from 'node:path';
import * as z from 'zod';
import type { HomePaths } from '../config/home.ts';
import { fingerprintOf } from './fingerprint.ts';
import { findPlugins, type FoundPlugin } from './loader.ts';
import { npmInstall, type NpmInstall } from '../../service/npm.ts';
import { ensureDirectory, syncDirectory } from '../storage/files.ts';
import { AppError } from '../util/errors.ts';
import { sentences } from '../util/text.ts';
import { guardKey } from './missing-guards.ts';
import { changePluginPins } from './plugin-pins.ts';
import { pluginFolders } from './packages.ts';

/** A package that can become a plugin; nothing of it has run. */
export interface PluginPlan {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  /** Real path of where it lies now. */
  readonly folder: string;
  readonly fingerprint: string;
  readonly files: number;
  /** As in `FoundPlugin`. */
  readonly readOnlyTools: readonly string[];
  /** It was fetched just now, and lies where nothing is loaded from. */
  readonly isFetched: boolean;
}

/** What the command line does with the plugins of a home; it touches files only. */
export interface PluginInstaller {
  /** Looks for a package that is here already by its name, else fetches it with npm: a name, a tarball or a folder. */
  readonly plan: (source: string) => Promise<PluginPlan>;
  /** Puts a fetched package in its place and writes down what was agreed to. */
  readonly agree: (plan: PluginPlan) => Promise<void>;
  /** Forgets a plan that no one agreed to. */
  readonly discard: (plan: PluginPlan) => Promise<void>;
  /** The package of this name; undefined: there is none. */
  readonly find: (name: string) => Promise<FoundPlugin | undefined>;
  /** Forgets the agreement, and deletes the package if it lies in the home. Returns whether it was deleted. */
  readonly remove: (name: string) => Promise<boolean>;
}

type InstallerPorts = Pick<NpmInstall, 'node' | 'env' | 'seconds'>;

export function openPluginInstaller(
  { plugins, pluginPins }: Pick<HomePaths, 'plugins' | 'pluginPins'>,
  ports: InstallerPorts,
): PluginInstaller {
  const folders = pluginFolders(plugins);
  const staging = join(plugins, '.new');
  const find = async (name: string): Promise<FoundPlugin | undefined> =>
    (await findPlugins(folders)).find((one) => one.name === name);
  const inHome = async (name: string): Promise<FoundPlugin | undefined> =>
    (await findPlugins(folders.slice(0, 2))).find((one) => one.name === name);
  return {
    find,
    plan: async (source) => {
      const path = resolve(source);
      const isPath = /^[./~]/u.test(source) || existsSync(path);
      if (isPath && !existsSync(path)) throw new AppError('plugin-unknown', `There is nothing at ${path}.`);
      const here = isPath ? undefined : await find(source);
      if (here !== undefined) return await planOf(here, { isFetched: false });
      await fetchPackage(isPath ? path : source, staging, ports);
      const [found] = await findPlugins([join(staging, 'node_modules')]);
      if (found !== undefined) return await planOf(found, { isFetched: true });
      await rm(staging, { recursive: true, force: true });
      throw new AppError(
        'plugin-none',
        `${source} is no plugin: its package.json does not name a file in "assistant": {"plugin": "./index.js"}. Nothing was added.`,
      );
    },
    agree: async (plan) => {
      if (plan.isFetched) {
        const old = await inHome(plan.name);
        const target = join(plugins, plan.name.replaceAll('/', '__'));
        const place = old === undefined || old.folder.includes(`${sep}node_modules${sep}`) ? target : old.folder;
        const aside = join(plugins, '.old');
        await rm(aside, { recursive: true, force: true });
        if (existsSync(place)) await rename(place, aside);
        await rename(plan.folder, place);
        await syncDirectory(plugins);
        await rm(aside, { recursive: true, force: true });
        await rm(staging, { recursive: true, force: true });
      }
      await changePluginPins(pluginPins, new Map([[plan.name, plan.fingerprint]]));
    },
    discard: async ({ isFetched }) => {
      if (isFetched) await rm(staging, { recursive: true, force: true });
    },
    remove: async (name) => {
      await changePluginPins(
        pluginPins,
        new Map([
          [name, null],
          [guardKey(name), null],
        ]),
      );
      const found = await inHome(name);
      if (found === undefined) return false;
      await rm(found.folder, { recursive: true, force: true });
      await syncDirectory(dirname(found.folder));
      return true;
    },
  };
}

/** Installs one package, with what it needs inside of it, into a folder of its own. Leaves nothing there when it fails. */
async function fetchPackage(spec: string, staging: string, ports: InstallerPorts): Promise<void> {
  await rm(staging, { recursive: true, force: true });
  await ensureDirectory(staging);
  // The assistant gives itself to its plugins, so it is not installed as what they need.
  const flags = ['--omit=dev', '--install-strategy=nested', '--install-links', '--legacy-peer-deps'];
  let why: string | null = '';
  try {
    why = await npmInstall(spec, { into: staging, flags, ...ports });
  } finally {
    if (why !== null) await rm(staging, { recursive: true, force: true });
  }
  if (why !== null) {
    throw new AppError('plugin-install', `npm could not install ${spec}: ${sentences(why, 'Nothing was changed')}`);
  }
}

const described = z.object({ description: z.string().default('') });

async function planOf(
  { name, version, folder, readOnlyTools }: FoundPlugin,
  { isFetched }: { readonly isFetched: boolean },
): Promise<PluginPlan> {
  const facts: unknown = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  const files = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  const { description = '' } = described.safeParse(facts).data ?? {};
  return {
    name,
    version,
    description,
    folder,
    fingerprint: await fingerprintOf(folder),
    files: files.length,
    readOnlyTools,
    isFetched,
  };
}
