import type * as z from 'zod';
import { configSchema, type Config, type Section } from './config/schema.ts';
import type { ChannelSettingsKind } from './config/schema/channels.ts';
import { SUBAGENT } from './agent/subagents/task.ts';
import { originsOf, type Origins } from './bus/origins.ts';
import type { Operation } from './gateway/operations/operation.ts';
import type { NamedTables } from './journal/tables.ts';
import { presetsOf, type Preset, type Presets } from './providers/presets.ts';
import type { LoadedPlugin } from './plugins/loader.ts';
import type { Vendors } from './providers/vendor.ts';
import type { OwnPaths } from './security/paths/rules.ts';
import type { App } from './app.ts';
import type { Extension, SpeechPart, SpeechState } from './extension.ts';

/**
 * The program as a value: what the core and its extensions are made of without a running assistant. `programOf` makes it once;
 * the command line, the assistant, the doctor, the documentation and tests are given it.
 */
export interface Program {
  /** Also those that a configuration switches off, in the order in which they open; packages are the last. */
  readonly extensions: readonly Extension[];
  /** Packages that a home brings, by name. */
  readonly packages: ReadonlyMap<string, LoadedPlugin>;
  /** Those that the configuration switches off; none where none was read. */
  readonly off: readonly Extension[];
  /** The program without a configuration, with all that this one switches off. @default itself */
  readonly whole?: Program;
  /** Of `config.json`. */
  readonly schema: z.ZodObject;
  /** The parts of the configuration that extensions bring. */
  readonly sections: readonly Section[];
  /** What kinds of channels have of their own in the configuration. */
  readonly kinds: readonly ChannelSettingsKind[];
  /** Vendors of models, by the `api` of their presets. */
  readonly vendors: Vendors;
  /** The services with models that are known by name. */
  readonly presets: Presets;
  /** Operations of extensions. */
  readonly operations: readonly Operation[];
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
  const kinds = extensions.flatMap(({ channels = [] }) => channels.flatMap(({ config }) => config ?? []));
  const vendors = Object.fromEntries(extensions.flatMap((one) => one.vendors ?? []).map((one) => [one.api, one]));
  return {
    extensions,
    packages,
    off: [],
    schema: configSchema({ names: extensions.map(({ name }) => name), sections, kinds }),
    sections,
    kinds,
    vendors,
    presets: presetsOf(
      extensions
        .flatMap(({ vendors: own = [], services = [] }) => [...own, ...services])
        .filter(({ api }) => Object.hasOwn(vendors, api)),
    ),
    operations: extensions.flatMap(({ operations = [] }) => operations),
    origins: originsOf([SUBAGENT, ...extensions.flatMap(({ origins = [] }) => origins)]),
    paths: {
      folders: extensions.flatMap(({ paths }) => paths?.folders ?? []),
      closed: Object.assign({}, ...extensions.map(({ paths }) => paths?.closed)) as OwnPaths['closed'],
    },
    tables: extensions.flatMap(({ name, tables }) => (tables === undefined ? [] : [{ name, ...tables }])),
  };
}

/**
 * The program as it runs with this configuration: extensions that are switched off connect no models and no channels. What they are
 * configured by and what they keep stays known.
 */
export function programWith(given: Program, config: Config): Program {
  const program = given.whole ?? given;
  const off = program.extensions.filter(({ name }) => config.extensions[name] === false);
  if (off.length === 0) return program;
  const vendors = off.flatMap((one) => (one.vendors ?? []).map((vendor) => [vendor.api, one.name] as const));
  const offBy = new Map(vendors);
  const services = off.flatMap(({ name, services: own = [] }) =>
    own.flatMap(({ presets }) => Object.keys(presets).map((one) => [one, name] as const)),
  );
  const serviceOffBy = new Map(services);
  const plugged = off.flatMap(({ name, providers = [] }) =>
    providers.map(({ kind }) => [kind, offPreset(name)] as const),
  );
  return {
    ...program,
    whole: program,
    off,
    vendors: Object.fromEntries(Object.entries(program.vendors).filter(([api]) => !offBy.has(api))),
    presets: new Map([
      ...plugged,
      ...Array.from(
        program.presets,
        ([name, one]) => [name, { ...one, off: offBy.get(one.api) ?? serviceOffBy.get(name) }] as const,
      ),
    ]),
  };
}

/** Stands for a kind of provider whose package is switched off. */
const offPreset = (off: string): Preset => ({ api: '', baseUrl: null, keyVariable: null, defaultModel: null, off });

/** The name of the extension of a kind of channel, where it is switched off. */
export function channelOffBy({ off }: Program, kind: string): string | undefined {
  return off.find(({ channels = [] }) => channels.some((one) => one.kind === kind))?.name;
}

/** Whether an extension is to be there with this configuration. */
export function isOn({ name, isOn: isWanted = () => true }: Extension, config: Config): boolean {
  return config.extensions[name] !== false && isWanted(config);
}

/** What hears and speaks with this configuration; undefined: nothing does. */
export function speechOf({ program, config }: Pick<App, 'program' | 'config'>): SpeechPart | undefined {
  return program.extensions.find((one) => one.speech !== undefined && isOn(one, config))?.speech;
}

const SILENCE: SpeechState = { voice: null, speech: null, hears: null, speaks: null };

export function speechStateOf(loaded: Pick<App, 'program' | 'config'>): SpeechState {
  return speechOf(loaded)?.state(loaded) ?? SILENCE;
}

/** Bundled skills of extensions that are off with this configuration. */
export function skillsOff({ extensions }: Program, config: Config): readonly string[] {
  return extensions.flatMap((one) => (isOn(one, config) ? [] : (one.bundledSkills ?? [])));
}

/** The kind of a channel; undefined: a package's, which checks its entry itself. */
export function kindOf({ kinds }: Program, name: string): ChannelSettingsKind | undefined {
  return kinds.find(({ kind }) => kind === name);
}
