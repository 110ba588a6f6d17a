import type * as z from 'zod';
import { configSchema, type Config, type Section } from '../config/schema.ts';
import { PLATFORMS, type ChannelSettingsKind } from '../config/schema/channels.ts';
import { SUBAGENT } from '../agent/subagents/task.ts';
import { originsOf, type Origins } from '../bus/origins.ts';
import type { NamedOperation } from '../gateway/operations/operation.ts';
import type { NamedTables } from '../journal/tables.ts';
import { CORE_SERVICES, presetsOf, type Presets } from '../providers/presets.ts';
import type { LoadedPlugin } from '../plugins/loader.ts';
import type { Vendors } from '../providers/vendor.ts';
import type { OwnPaths } from '../security/paths/rules.ts';
import type { Extension } from './extension.ts';

/**
 * The program as a value: what the core and its extensions are made of without a running assistant. `programOf` makes it once;
 * the command line, the assistant, the doctor, the documentation and tests are given it.
 */
export interface Program {
  /** Also those that a configuration switches off, in the order in which they open; packages are the last. */
  readonly extensions: readonly Extension[];
  /** Packages that a home brings, by name. */
  readonly packages: ReadonlyMap<string, LoadedPlugin>;
  /** Of `config.json`. */
  readonly schema: z.ZodObject;
  /** The parts of the configuration that extensions bring. */
  readonly sections: readonly Section[];
  /** What kinds of channels have of their own in the configuration. */
  readonly kinds: readonly ChannelSettingsKind[];
  /** Vendors of models, by the `api` of their presets. */
  readonly vendors: Vendors;
  /** The services with models that are known by name: those of the core, then those of the vendors. */
  readonly presets: Presets;
  /** Operations of extensions. */
  readonly operations: readonly NamedOperation[];
  /** How messages are treated by their origin. */
  readonly origins: Origins;
  readonly paths: OwnPaths;
  /** Tables of extensions in the journal. */
  readonly tables: readonly NamedTables[];
}

export function programOf(own: readonly Extension[], packages: Program['packages'] = new Map()): Program {
  const extensions = [
    ...own.filter(({ name }) => !packages.has(name)),
    ...Array.from(packages.values(), ({ plugin }) => plugin),
  ];
  const sections = extensions.flatMap(({ settings = [] }) => settings);
  const kinds = [
    ...PLATFORMS,
    ...extensions.flatMap(({ channels = [] }) => channels.flatMap(({ config }) => config ?? [])),
  ];
  const vendors = extensions.flatMap((one) => one.vendors ?? []);
  return {
    extensions,
    packages,
    schema: configSchema({ names: extensions.map(({ name }) => name), sections, kinds }),
    sections,
    kinds,
    vendors: Object.fromEntries(vendors.map((one) => [one.api, one])),
    presets: presetsOf([...CORE_SERVICES, ...vendors]),
    operations: extensions.flatMap(({ operations = [] }) => operations),
    origins: originsOf([SUBAGENT, ...extensions.flatMap(({ origins = [] }) => origins)]),
    paths: {
      folders: extensions.flatMap(({ paths }) => paths?.folders ?? []),
      closed: Object.assign({}, ...extensions.map(({ paths }) => paths?.closed)) as OwnPaths['closed'],
    },
    tables: extensions.flatMap(({ name, tables }) => (tables === undefined ? [] : [{ name, ...tables }])),
  };
}

/** Whether an extension is to be there with this configuration. */
export function isOn({ name, isOn: isWanted = () => true }: Extension, config: Config): boolean {
  return config.extensions[name] !== false && isWanted(config);
}

/** Bundled skills of extensions that are off with this configuration. */
export function skillsOff({ extensions }: Program, config: Config): readonly string[] {
  return extensions.flatMap((one) => (isOn(one, config) ? [] : (one.bundledSkills ?? [])));
}

/** The kind of a channel; undefined: a package's, which checks its entry itself. */
export function kindOf({ kinds }: Program, name: string): ChannelSettingsKind | undefined {
  return kinds.find(({ kind }) => kind === name);
}
