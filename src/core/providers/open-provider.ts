import type { Clock } from '../util/clock.ts';
import { AppError } from '../util/errors.ts';
import { nearest, switchedOff } from '../util/text.ts';
import type { EndpointOptions } from './endpoint.ts';
import { rootOf, usualKind, type Preset, type Presets } from './presets.ts';
import { openPlugged, type PluggedProvider, type PluggedProviders } from './plugged.ts';
import type { Provider } from './provider.ts';
import type { LearnedFacts } from './learned.ts';
import type { ModelServices, Vendors } from './vendor.ts';

/** One entry of `config.providers`. */
export interface ProviderConfig {
  /** A preset's name. @default the entry's own name, else the usual one when there is a `baseUrl` */
  readonly kind?: string | null;
  /** Null: the preset's. */
  readonly baseUrl?: string | null;
  /** Several take turns. */
  readonly apiKey?: string | readonly string[] | null;
  /** Which of OpenAI's two APIs. @default 'chat' */
  readonly wire?: 'chat' | 'responses';
  readonly headers?: Readonly<Record<string, string>>;
  /** Merged over each request's body. */
  readonly extraBody?: Readonly<Record<string, unknown>>;
  readonly timeouts?: {
    readonly firstByteSeconds?: number | null | undefined;
    readonly idleSeconds?: number | null | undefined;
  };
}

/** Makes the adapter for one key of an entry. Throws an `AppError` for what cannot be called. */
export function openProvider(
  name: string,
  config: ProviderConfig,
  options: {
    readonly apiKey: string | null;
    /** The variable that the key was read from. @default it stands in the configuration */
    readonly keyVariable?: string;
    /** Which of several keys it is, counted from 1. @default it is the only one */
    readonly keyNumber?: number;
    /** Tokens of context that are configured for a model, for a server that is told how many to load. @default none */
    readonly windowOf?: (model: string) => number | null;
    readonly clock: Clock;
    readonly learned?: LearnedFacts;
    readonly program: ModelServices;
    /** Kinds of plugins. @default none */
    readonly plugged?: PluggedProviders;
  },
): Provider {
  const { vendors, presets } = options.program;
  const kind = config.kind ?? name;
  const other = presets.has(kind) ? undefined : pluggedNamed(options.plugged, kind);
  if (other !== undefined) return openPlugged(name, other, { config, ...options });
  const preset = presetOf(presets, name, config, Object.keys(options.plugged ?? {}));
  const vendor = vendors[preset.api];
  if (vendor === undefined) throw invalid(`The provider "${name}" isn't a part of this program.`, { provider: name });
  const { wire = 'chat' } = config;
  if (!(vendor.wires ?? ['chat']).includes(wire)) {
    throw invalid(`providers.${name}.wire is "${wire}", which only servers with OpenAI's API speak. Leave it out.`, {
      provider: name,
    });
  }
  const endpoint = toEndpoint(name, config, { preset, ...options });
  return vendor.connect({ ...endpoint, wire, hints: vendor.hints }, options.windowOf ?? (() => null));
}

/** The kind of a plugin with this name. */
function pluggedNamed(plugged: PluggedProviders | undefined, kind: string): PluggedProvider | undefined {
  return plugged !== undefined && Object.hasOwn(plugged, kind) ? plugged[kind] : undefined;
}

/** The kind of an entry: what it says, else its name; one that only has an address speaks OpenAI's API. */
export function kindOf(presets: Presets, name: string, config: ProviderConfig): string {
  return config.kind ?? (!presets.has(name) && hasBaseUrl(config) ? usualKind(presets) : undefined) ?? name;
}

/** The service of an entry. Throws an `AppError` when there is none, or it is switched off; `others` are kinds of plugins. */
export function presetOf(
  presets: Presets,
  name: string,
  config: ProviderConfig,
  others: readonly string[] = [],
): Preset {
  const kind = kindOf(presets, name, config);
  const preset = presets.get(kind);
  if (preset?.off !== undefined)
    throw invalid(`The provider "${name}" can't be used: ${switchedOff(preset.off)}.`, { provider: name, isOff: true });
  if (preset !== undefined) return preset;
  const kinds = [...presets.keys(), ...others];
  const setKind = `set providers.${name}.kind (${kinds.join(', ')})`;
  const noKind =
    usualKind(presets) === undefined
      ? `no extension of this program speaks OpenAI's API, so an address is not enough. Please ${setKind}.`
      : `${setKind}, or providers.${name}.baseUrl for a server that speaks OpenAI's API.`;
  throw invalid(
    config.kind === undefined || config.kind === null
      ? `The provider "${name}" needs to say what it is: ${noKind}`
      : `providers.${name}.kind is "${kind}", which is not known${didYouMean(kind, kinds)}. Known: ${kinds.join(', ')}.`,
    { provider: name },
  );
}

/** How an entry is reached. Throws an `AppError` when it lacks what that needs. */
export function toEndpoint(
  name: string,
  config: ProviderConfig,
  {
    preset,
    apiKey,
    keyVariable = null,
    keyNumber,
    clock,
    learned,
  }: {
    readonly preset: Preset;
    readonly apiKey: string | null;
    readonly keyVariable?: string | null;
    readonly keyNumber?: number;
    readonly clock: Clock;
    readonly learned?: LearnedFacts;
  },
): EndpointOptions {
  if (preset.needsBaseUrl === true && !hasBaseUrl(config)) {
    throw invalid(
      `The provider "${name}" has no address. Set providers.${name}.baseUrl, e.g. "https://my-resource.openai.azure.com/openai/v1".`,
      { provider: name },
    );
  }
  if (apiKey === null && preset.keyVariable !== null && !hasBaseUrl(config)) {
    // The usual variable fills the entry of the usual name and no other.
    const usual = (config.kind ?? name) === name ? preset.keyVariable : null;
    const places = [
      ...(usual === null ? [] : [`${usual} in the environment`]),
      `providers.${name}.apiKey in the configuration`,
    ];
    throw invalid(`The provider "${name}" has no API key. Set ${places.join(' or ')}.`, {
      provider: name,
      keyVariable: usual,
    });
  }
  const { firstByteSeconds, idleSeconds } = config.timeouts ?? {};
  return {
    name,
    apiKey,
    baseUrl: providerAddressOf(name, config, preset),
    keyVariable,
    ...(keyNumber === undefined ? {} : { keyNumber }),
    clock,
    quirks: preset.quirks,
    learned,
    headers: config.headers ?? {},
    extraBody: config.extraBody ?? {},
    ...(typeof firstByteSeconds === 'number' ? { firstByteMs: firstByteSeconds * 1000 } : {}),
    ...(typeof idleSeconds === 'number' ? { idleMs: idleSeconds * 1000 } : {}),
  };
}

/** Where the server is; null: the API's own address. Throws an `AppError` for what is no address. */
export function providerAddressOf(name: string, config: ProviderConfig, preset: Preset): string | null {
  const baseUrl = hasBaseUrl(config) ? (config.baseUrl ?? null) : preset.baseUrl;
  if (baseUrl !== null && !/^https?:$/u.test(URL.parse(baseUrl)?.protocol ?? '')) {
    throw invalid(
      `providers.${name}.baseUrl must be an http or https address such as "http://127.0.0.1:8080/v1", not "${baseUrl}".`,
      { provider: name },
    );
  }
  return baseUrl !== null && preset.hasRoot === true ? rootOf(baseUrl) : baseUrl;
}

/** Whether the server of an entry is asked for a model's context window; of a public one a list tells. */
export function asksWindowOf(config: ProviderConfig, { api, keyVariable }: Preset, vendors: Vendors): boolean {
  const vendor = vendors[api];
  if (vendor?.window === undefined) return false;
  return vendor.usualWindow !== undefined || keyVariable === null || hasBaseUrl(config);
}

export function hasBaseUrl({ baseUrl }: ProviderConfig): boolean {
  return baseUrl !== undefined && baseUrl !== null && baseUrl !== '';
}

export function didYouMean(name: string, candidates: readonly string[]): string {
  const guess = nearest(name, candidates);
  return guess === undefined ? '' : ` (did you mean "${guess}"?)`;
}

export function invalid(message: string, facts: Record<string, unknown>): AppError {
  return new AppError('config-invalid', message, { exitCode: 78, facts });
}
