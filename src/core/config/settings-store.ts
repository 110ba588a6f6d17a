import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import { Held } from '../util/held.ts';
import type { LoadedConfig } from './load.ts';
import { innerSchema, type Config } from './schema.ts';
import type { Program } from '../program.ts';
import { effectOf, schemaAt, valueAt, type SettingPath } from './setting.ts';
import type { Effect } from './schema/values.ts';

/** One setting that is different now. An entry of a section such as `channels` counts as one. */
export interface SettingChange {
  readonly path: SettingPath;
  readonly effect: Effect;
}

/**
 * The settings that are in force. `config` shows the newest of them, section by section, so what is to be live reads it when
 * it needs it and keeps no part; within `hold`, the live sections stay as they were. Settings that take effect at a restart
 * keep the values of the start.
 */
export class SettingsStore {
  /** Reads through to what is in force now. */
  readonly config: Config;
  readonly #adapt: (config: Config) => Config;
  #loaded: LoadedConfig;
  readonly #inForce: Held<Config>;

  /** `adapt` changes what was loaded before it is in force, e.g. for safe mode. */
  constructor(loaded: LoadedConfig, adapt: (config: Config) => Config = (config) => config) {
    this.#adapt = adapt;
    this.#loaded = loaded;
    this.#inForce = new Held(adapt(loaded.config));
    const view = {};
    const { program } = loaded;
    for (const section of Object.keys(program.schema.shape)) {
      // Rights and connections count as they are now, also in the middle of a turn.
      const current = effectOf(program, [section]) === 'live' ? () => this.#inForce.now : () => this.#inForce.newest;
      Object.defineProperty(view, section, { enumerable: true, get: () => valueAt(current(), [section]) });
    }
    // It has each section of the program.
    this.config = view as Config;
  }

  /** What was loaded last. */
  get loaded(): LoadedConfig {
    return this.#loaded;
  }

  /** The settings that were changed since the start and wait for a restart. */
  get waiting(): readonly SettingPath[] {
    return differences(this.#loaded.program, this.#inForce.newest, this.#adapt(this.#loaded.config)).map(
      ({ path }) => path,
    );
  }

  /** Does this work with the live sections as they are now, until it has ended. */
  readonly hold = <T>(work: () => Promise<T>): Promise<T> => this.#inForce.hold(work);

  /** What would be different with a newly loaded configuration; nothing is changed. */
  compare(loaded: LoadedConfig): readonly SettingChange[] {
    return differences(loaded.program, this.#adapt(this.#loaded.config), this.#adapt(loaded.config));
  }

  /** Puts a newly loaded configuration in force, but for what takes effect at a restart. */
  replace(loaded: LoadedConfig): void {
    const next = this.#adapt(loaded.config);
    const present = this.#inForce.newest;
    const waiting = differences(loaded.program, present, next).filter(({ effect }) => effect === 'restart');
    this.#loaded = loaded;
    this.#inForce.replace(waiting.reduce<Config>((config, { path }) => withValue(config, path, present), next));
  }
}

function differences(
  program: Program,
  before: unknown,
  after: unknown,
  path: SettingPath = [],
): readonly SettingChange[] {
  const [old, now] = [valueAt(before, path), valueAt(after, path)];
  if (isDeepStrictEqual(old, now)) return [];
  const inner = path.length === 0 ? program.schema : innerSchema(schemaAt(program, path));
  const isSection = path.length === 1 && inner instanceof z.ZodRecord && effectOf(program, path) === 'rebuild';
  // The entries of a rebuilt section are whole things; below them nothing is told apart.
  const isGroup =
    inner instanceof z.ZodObject && !(path.length > 1 && effectOf(program, path.slice(0, 1)) === 'rebuild');
  const keys = isSection
    ? new Set([old, now].flatMap((entries) => Object.keys(entries ?? {})))
    : isGroup
      ? Object.keys(inner.shape)
      : undefined;
  if (keys === undefined) return [{ path, effect: effectOf(program, path) }];
  return [...keys].flatMap((key) => differences(program, before, after, [...path, key]));
}

/** `config` with the value that `source` has at `path`. */
function withValue<T>(config: T, [key, ...rest]: SettingPath, source: unknown): T {
  if (key === undefined) return source as T;
  const inner = withValue<unknown>(valueAt(config, [key]), rest, valueAt(source, [key]));
  return { ...config, [key]: inner };
}
