import type { Clock } from '../util/clock.ts';
import { AppError } from '../util/errors.ts';
import { nearest } from '../util/text.ts';
import { createAnthropicProvider } from './anthropic.ts';
import { createDemoProvider } from './demo.ts';
import type { EndpointOptions } from './endpoint.ts';
import { createOpenAiProvider } from './openai.ts';
import { findPreset, PRESETS, type Preset } from './presets.ts';
import type { Provider } from './provider.ts';

/** One entry of `config.providers`. */
export interface ProviderConfig {
  /** A preset's name. @default the entry's own name, else `openai` when there is a `baseUrl` */
  readonly kind?: string | null | undefined;
  /** Null: the preset's. */
  readonly baseUrl?: string | null | undefined;
  readonly apiKey?: string | readonly string[] | null | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Merged over each request's body. */
  readonly extraBody?: Readonly<Record<string, unknown>> | undefined;
  readonly timeouts?:
    | { readonly firstByteSeconds?: number | undefined; readonly idleSeconds?: number | undefined }
    | undefined;
}

export interface ProvidersOptions {
  readonly configs: Readonly<Record<string, ProviderConfig>>;
  readonly clock: Clock;
}

interface ResolvedModel {
  readonly provider: Provider;
  readonly providerName: string;
  /** The provider's own name of the model; may hold slashes. */
  readonly model: string;
}

export interface Providers {
  /**
   * Finds what `provider/model` or `auto` means. Throws an `AppError` (`config-invalid`, exit code 78) for what can
   * not be called. The same provider object is returned each time.
   */
  resolve(modelRef: string): ResolvedModel;
}

export function createProviders({ configs, clock }: ProvidersOptions): Providers {
  const open = new Map<string, Provider>();
  const known = [...new Set([...Object.keys(PRESETS), ...Object.keys(configs)])];

  const provide = (name: string): Provider => {
    const found = open.get(name) ?? openProvider(name, configOf(configs, name), clock);
    open.set(name, found);
    return found;
  };

  return {
    resolve(modelRef) {
      const ref = modelRef.trim() === 'auto' ? autoRef(configs) : modelRef.trim();
      const slash = ref.indexOf('/');
      const providerName = slash === -1 ? ref : ref.slice(0, slash);
      const model = slash === -1 ? '' : ref.slice(slash + 1);
      if (!known.includes(providerName) || model === '') throw unknownRef(modelRef, providerName, model, known);
      return { provider: provide(providerName), providerName, model };
    },
  };
}

/** The first provider with a key and its default model. One at an address of its own has no default model we know. */
function autoRef(configs: ProvidersOptions['configs']): string {
  for (const name of [...Object.keys(PRESETS), ...Object.keys(configs)]) {
    const config = configOf(configs, name);
    const preset = findPreset(name) ?? (hasBaseUrl(config) ? undefined : findPreset(config.kind ?? ''));
    if (preset !== undefined && firstKey(config) !== null) return `${name}/${preset.defaultModel}`;
  }
  return `demo/${PRESETS.demo.defaultModel}`;
}

function openProvider(name: string, config: ProviderConfig, clock: Clock): Provider {
  const preset = presetOf(name, config);
  if (preset.wire === 'demo') return createDemoProvider(name);
  const endpoint = toEndpoint(name, config, preset, clock);
  return preset.wire === 'anthropic' ? createAnthropicProvider(endpoint) : createOpenAiProvider(endpoint);
}

function presetOf(name: string, config: ProviderConfig): Preset {
  const kind = config.kind ?? (findPreset(name) === undefined && hasBaseUrl(config) ? 'openai' : name);
  const preset = findPreset(kind);
  if (preset !== undefined) return preset;
  const kinds = Object.keys(PRESETS);
  throw invalid(
    config.kind === undefined
      ? `The provider "${name}" needs to say what it is: set providers.${name}.kind (${kinds.join(', ')}), or providers.${name}.baseUrl for a server that speaks OpenAI's API.`
      : `providers.${name}.kind is "${kind}", which is not known${didYouMean(kind, kinds)}. Known: ${kinds.join(', ')}.`,
    { provider: name },
  );
}

function toEndpoint(name: string, config: ProviderConfig, preset: Preset, clock: Clock): EndpointOptions {
  const apiKey = firstKey(config);
  const { keyVariable } = preset;
  if (apiKey === null && keyVariable !== null && !hasBaseUrl(config)) {
    throw invalid(
      `The provider "${name}" has no API key. Set ${keyVariable} in the environment or providers.${name}.apiKey in the configuration.`,
      { provider: name, keyVariable },
    );
  }
  const baseUrl = hasBaseUrl(config) ? (config.baseUrl ?? null) : preset.baseUrl;
  if (baseUrl !== null && !/^https?:$/u.test(URL.parse(baseUrl)?.protocol ?? '')) {
    throw invalid(
      `providers.${name}.baseUrl must be an http or https address such as "http://127.0.0.1:8080/v1", not "${baseUrl}".`,
      { provider: name },
    );
  }
  const { firstByteSeconds, idleSeconds } = config.timeouts ?? {};
  return {
    name,
    apiKey,
    baseUrl,
    keyVariable,
    clock,
    headers: config.headers ?? {},
    extraBody: config.extraBody ?? {},
    ...(firstByteSeconds === undefined ? {} : { firstByteMs: firstByteSeconds * 1000 }),
    ...(idleSeconds === undefined ? {} : { idleMs: idleSeconds * 1000 }),
  };
}

function configOf(configs: ProvidersOptions['configs'], name: string): ProviderConfig {
  return (Object.hasOwn(configs, name) ? configs[name] : undefined) ?? {};
}

function hasBaseUrl({ baseUrl }: ProviderConfig): boolean {
  return baseUrl !== undefined && baseUrl !== null && baseUrl !== '';
}

function firstKey({ apiKey }: ProviderConfig): string | null {
  const keys = typeof apiKey === 'string' ? [apiKey] : (apiKey ?? []);
  return keys.find((key) => key.trim() !== '') ?? null;
}

function unknownRef(modelRef: string, providerName: string, model: string, known: readonly string[]): AppError {
  const facts = { model: modelRef, known };
  if (known.includes(providerName)) {
    const written = `${providerName}/${findPreset(providerName)?.defaultModel ?? '<model>'}`;
    return invalid(`The model "${modelRef}" lacks the model's name. Write provider/model, e.g. "${written}".`, facts);
  }
  if (model === '') {
    const refs = Object.entries(PRESETS).map(([name, preset]) => `${name}/${preset.defaultModel}`);
    const example = nearest(modelRef, refs.map(bareModel));
    const written = refs.find((ref) => bareModel(ref) === example) ?? refs[0];
    return invalid(
      `The model "${modelRef}" does not say whose it is. Write provider/model, e.g. "${written}", or "auto".`,
      facts,
    );
  }
  const guess = didYouMean(providerName, known);
  return invalid(
    `The model "${modelRef}" names a provider that is not known: "${providerName}"${guess}. Known: ${known.join(', ')}; others need an entry in providers.`,
    facts,
  );
}

function bareModel(ref: string): string {
  return ref.slice(ref.indexOf('/') + 1);
}

function didYouMean(name: string, candidates: readonly string[]): string {
  const guess = nearest(name, candidates);
  return guess === undefined ? '' : ` (did you mean "${guess}"?)`;
}

function invalid(message: string, facts: Record<string, unknown>): AppError {
  return new AppError('config-invalid', message, { exitCode: 78, facts });
}
