import type { Clock } from '../util/clock.ts';
import { AppError } from '../util/errors.ts';
import type { Logger } from '../util/log.ts';
import { systemRandom, type Random } from '../util/random.ts';
import { nearest } from '../util/text.ts';
import { askContextWindow } from './probe-context-window.ts';
import { Cooldowns } from './wrappers/cooldowns.ts';
import { KEY_TROUBLES, withFailover, type Candidate } from './wrappers/failover.ts';
import { withImageFallback } from './wrappers/image-fallback.ts';
import {
  providerAddressOf,
  didYouMean,
  hasBaseUrl,
  invalid,
  keysOf,
  openProvider,
  presetOf,
  type ProviderConfig,
} from './open-provider.ts';
import { findPreset, PRESETS, type Preset } from './presets.ts';
import type { ModelRequest, Provider } from './provider.ts';
import { withRetry } from './wrappers/retry.ts';

export interface ProvidersOptions {
  readonly configs: Readonly<Record<string, ProviderConfig>>;
  /** The variables that keys were read from, by the name of their entry. @default they stand in the configuration */
  readonly keyVariables?: Readonly<Record<string, string>>;
  readonly clock: Clock;
  /** @default the system's */
  readonly random?: Random;
  readonly log?: Logger;
}

interface ResolvedModel {
  readonly provider: Provider;
  readonly providerName: string;
  /** The provider's own name of the model; may hold slashes. */
  readonly model: string;
}

export interface Providers {
  /**
   * Finds what `provider/model` or `auto` means, with the models that take over when it fails, in order. Throws an
   * `AppError` (`config-invalid`, exit code 78) for what cannot be called. The same provider object is returned for
   * the same references each time.
   */
  resolve(modelRef: string, fallbacks?: readonly string[]): ResolvedModel;
  /**
   * The tokens that a model of a local server can read, asked of the server; null when it is no such server or does
   * not say so within 2 s. Never throws.
   */
  contextWindow(modelRef: string): Promise<number | null>;
  /**
   * The body that a request to a provider has, as the configuration is now; null where nothing is sent. Throws an
   * `AppError` for a provider that is not configured any more.
   */
  body(providerName: string, request: ModelRequest): Promise<string | null>;
}

/** A model that others stand by for gets these attempts only. */
const EAGER = { waitsMs: [1000, 2000], longestWaitMs: 10_000 };

/**
 * Opens providers as they are asked for. A call passes through these, from the outside:
 *
 * 1. the models in order: the dearest change (cache and thoughts are lost), so the last resort;
 * 2. retries, which keep the model; three attempts while another model stands by, all five on the last;
 * 3. the keys of the model: a refused or used up key is replaced at once, without any wait;
 * 4. once more without images, where images were refused.
 */
export function createProviders({
  configs,
  keyVariables = {},
  clock,
  random = systemRandom,
  log,
}: ProvidersOptions): Providers {
  const adapters = new Map<string, Provider>();
  const resolved = new Map<string, ResolvedModel>();
  const cooldowns = new Cooldowns(clock);
  const known = [...new Set([...Object.keys(PRESETS), ...Object.keys(configs)])];

  const adapter = (name: string, apiKey: string | null, index: number): Provider => {
    const id = `${name}#${index}`;
    const hasOthers = keysOf(configOf(configs, name)).length > 1;
    const options = { apiKey, keyVariable: keyVariables[name], clock, ...(hasOthers ? { keyNumber: index + 1 } : {}) };
    const found = adapters.get(id) ?? withImageFallback(openProvider(name, configOf(configs, name), options));
    adapters.set(id, found);
    return found;
  };

  const byKeys = ({ providerName, model }: ModelRef): Provider => {
    const keys = keysOf(configOf(configs, providerName));
    const [first = null] = keys;
    const candidate = (apiKey: string | null, index: number): Candidate => {
      const id = `${providerName}#${index}/${model}`;
      return { provider: adapter(providerName, apiKey, index), providerName, model, id };
    };
    const others = keys.slice(1).map((key, index) => candidate(key, index + 1));
    if (others.length === 0) return candidate(first, 0).provider;
    return withFailover([candidate(first, 0), ...others], { clock, log, cooldowns, leaveOn: KEY_TROUBLES });
  };

  const toCandidate = (ref: ModelRef, isLast: boolean): Candidate => ({
    ...ref,
    provider: withRetry(byKeys(ref), { clock, random, log, ...(isLast ? {} : EAGER) }),
  });

  const open = (first: ModelRef, others: readonly ModelRef[]): ResolvedModel => {
    const rest = others.map((ref, index) => toCandidate(ref, index === others.length - 1));
    const provider = withFailover([toCandidate(first, others.length === 0), ...rest], { clock, log, cooldowns });
    return { ...first, provider };
  };

  return {
    resolve(modelRef, fallbacks = []) {
      const first = parseRef(modelRef, { configs, known });
      const others = fallbacks.map((ref) => parseFallback(ref, { configs, known }));
      const distinct = new Map([first, ...others].map((ref) => [`${ref.providerName}/${ref.model}`, ref]));
      const key = [...distinct.keys()].join(' ');
      const found = resolved.get(key) ?? open(first, [...distinct.values()].slice(1));
      resolved.set(key, found);
      return found;
    },
    async body(providerName, request) {
      const config = configOf(configs, providerName);
      const [apiKey = null] = keysOf(config);
      return (await openProvider(providerName, config, { apiKey, clock }).body?.(request)) ?? null;
    },
    async contextWindow(modelRef) {
      try {
        const { providerName, model } = parseRef(modelRef, { configs, known });
        const config = configOf(configs, providerName);
        const preset = presetOf(providerName, config);
        const baseUrl = providerAddressOf(providerName, config, preset);
        if (preset.asksWindow === undefined || baseUrl === null) return null;
        const [apiKey = null] = keysOf(config);
        return await askContextWindow({ server: preset.asksWindow, baseUrl, model, apiKey, clock });
      } catch {
        return null;
      }
    },
  };
}

interface ModelRef {
  readonly providerName: string;
  readonly model: string;
}

interface Known {
  readonly configs: ProvidersOptions['configs'];
  readonly known: readonly string[];
}

function parseRef(modelRef: string, { configs, known }: Known): ModelRef {
  const ref = modelRef.trim() === 'auto' ? autoRef(configs) : modelRef.trim();
  const slash = ref.indexOf('/');
  const providerName = slash === -1 ? ref : ref.slice(0, slash);
  const model = slash === -1 ? '' : ref.slice(slash + 1);
  if (!known.includes(providerName) || model === '') throw unknownRef(modelRef, { providerName, model }, known);
  return { providerName, model };
}

function parseFallback(ref: string, known: Known): ModelRef {
  try {
    return parseRef(ref, known);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    throw invalid(`agent.fallbacks cannot be used: ${error.message}`, { ...error.facts });
  }
}

/** The first provider with a key and its default model. One at an address of its own has no default model we know. */
function autoRef(configs: ProvidersOptions['configs']): string {
  for (const name of [...Object.keys(PRESETS), ...Object.keys(configs)]) {
    const config = configOf(configs, name);
    const preset = findPreset(name) ?? (hasBaseUrl(config) ? undefined : findPreset(config.kind ?? ''));
    if (preset !== undefined && isReady(preset, config)) return `${name}/${preset.defaultModel}`;
  }
  return `demo/${PRESETS.demo.defaultModel}`;
}

function isReady({ defaultModel, needsBaseUrl }: Preset, config: ProviderConfig): boolean {
  return defaultModel !== null && keysOf(config).length > 0 && (needsBaseUrl !== true || hasBaseUrl(config));
}

function configOf(configs: ProvidersOptions['configs'], name: string): ProviderConfig {
  return (Object.hasOwn(configs, name) ? configs[name] : undefined) ?? {};
}

function unknownRef(modelRef: string, { providerName, model }: ModelRef, known: readonly string[]): AppError {
  const facts = { model: modelRef, known };
  if (known.includes(providerName)) {
    const written = `${providerName}/${findPreset(providerName)?.defaultModel ?? '<model>'}`;
    return invalid(`The model "${modelRef}" lacks the model's name. Write provider/model, e.g. "${written}".`, facts);
  }
  if (model === '') {
    const refs = Object.entries(PRESETS).flatMap(([name, { defaultModel }]) =>
      defaultModel === null ? [] : [`${name}/${defaultModel}`],
    );
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
