import type { Clock } from '../util/clock.ts';
import { AppError } from '../util/errors.ts';
import type { Logger } from '../util/log.ts';
import type { Permit } from '../util/permit.ts';
import { systemRandom, type Random } from '../util/random.ts';
import { nearest } from '../util/text.ts';
import { askContextWindow, type ServerFacts } from './probe-context-window.ts';
import { Cooldowns } from './wrappers/cooldowns.ts';
import { withUsage } from './wrappers/counted.ts';
import { KEY_TROUBLES, withFailover, type Candidate } from './wrappers/failover.ts';
import { withImageFallback } from './wrappers/image-fallback.ts';
import {
  asksWindowOf,
  providerAddressOf,
  didYouMean,
  hasBaseUrl,
  invalid,
  openProvider,
  presetOf,
  type ProviderConfig,
  kindOf,
} from './open-provider.ts';
import { keysOf } from './endpoint.ts';
import type { PluggedProviders } from './plugged.ts';
import { scriptedKind, type Preset, type Presets } from './presets.ts';
import type { ModelRequest, Provider } from './provider.ts';
import { LearnedFacts } from './learned.ts';
import type { ModelServices } from './vendor.ts';
import { withPermit } from './wrappers/permitted.ts';
import { withRetry } from './wrappers/retry.ts';

export interface ProvidersOptions {
  readonly configs: Readonly<Record<string, ProviderConfig>>;
  /** Provider name → environment variable that its key was read from, for error texts. @default keys are in the configuration */
  readonly keyVariables?: Readonly<Record<string, string>>;
  /** Tokens of context that are configured for a model, `provider/model`. @default none */
  readonly windowOf?: (modelRef: string) => number | null;
  readonly clock: Clock;
  readonly program: ModelServices;
  /** Kinds of plugins, by name. @default none */
  readonly plugged?: PluggedProviders;
  /** Each call waits for it. @default always permitted */
  readonly permit?: Pick<Permit, 'granted'>;
  /** @default the system's */
  readonly random?: Random;
  readonly log?: Logger;
  /** @default it is forgotten with the providers */
  readonly learned?: LearnedFacts;
}

interface ResolvedModel {
  readonly provider: Provider;
  readonly providerName: string;
  /** The model's name at the provider, such as `gpt-5` or `meta/llama-4`. */
  readonly model: string;
}

export interface Providers {
  /**
   * Opens the model `provider/model` or `auto`, with the models that take over when it fails, in order. Throws an
   * `AppError` (`config-invalid`, exit code 78) when a reference or the configuration of its provider is wrong. Equal
   * references get the same provider object.
   */
  resolve(modelRef: string, fallbacks?: readonly string[]): ResolvedModel;
  /**
   * Tokens of context of a model on a local server: those that it is loaded with by the next call where the server is told
   * how many (Ollama), else those that the server names. Null when the provider is no such server, or does not answer within 2 s and is not told.
   * Never rejects.
   */
  contextWindow(modelRef: string): Promise<number | null>;
  /**
   * The JSON body that this request has at the provider, with the present configuration; null for a provider that sends
   * none. Rejects with an `AppError` for a provider that is no longer configured.
   */
  body(providerName: string, request: ModelRequest): Promise<string | null>;
}

/** Retries of a model that has another model behind it: fewer and shorter. */
const EAGER = { waitsMs: [1000, 2000], longestWaitMs: 10_000 };

/**
 * Opens providers when they are first used. A call passes through these wrappers, from the outside in:
 *
 * 1. failover to the next model: outermost, because a change of the model loses its prompt cache and its reasoning;
 * 2. retries of the same model: three attempts if another model follows, five on the last;
 * 3. failover to the next key of the model, at once, when a key is refused or used up;
 * 4. one more attempt without images when the model refused images.
 */
export function createProviders({
  configs,
  keyVariables = {},
  windowOf = () => null,
  plugged = {},
  program,
  permit,
  clock,
  random = systemRandom,
  log,
  learned = new LearnedFacts({ clock, log }),
}: ProvidersOptions): Providers {
  const { presets, vendors } = program;
  const adapters = new Map<string, Provider>();
  const resolved = new Map<string, ResolvedModel>();
  const cooldowns = new Cooldowns(clock);
  const known = [...new Set([...presets.keys(), ...Object.keys(configs), ...Object.keys(plugged)])];

  const windowsOf =
    (name: string) =>
    (model: string): number | null =>
      windowOf(`${name}/${model}`);

  const adapter = (name: string, apiKey: string | null, index: number): Provider => {
    const id = `${name}#${index}`;
    const hasOthers = keysOf(configOf(configs, name)).length > 1;
    const options = {
      apiKey,
      keyVariable: keyVariables[name],
      clock,
      windowOf: windowsOf(name),
      program,
      plugged,
      learned,
      ...(hasOthers ? { keyNumber: index + 1 } : {}),
    };
    const found =
      adapters.get(id) ?? withImageFallback(withUsage(openProvider(name, configOf(configs, name), options)));
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
    provider: withRetry(withPermit(byKeys(ref), permit), { clock, random, log, ...(isLast ? {} : EAGER) }),
  });

  const open = (first: ModelRef, others: readonly ModelRef[]): ResolvedModel => {
    const rest = others.map((ref, index) => toCandidate(ref, index === others.length - 1));
    const provider = withFailover([toCandidate(first, others.length === 0), ...rest], { clock, log, cooldowns });
    return { ...first, provider };
  };

  return {
    resolve(modelRef, fallbacks = []) {
      const first = parseRef(modelRef, { configs, presets, known });
      const others = fallbacks
        .map((ref) => parseFallback(ref, { configs, presets, known }))
        .filter(
          ({ providerName: name }) => presets.get(kindOf(presets, name, configOf(configs, name)))?.off === undefined,
        );
      const distinct = new Map([first, ...others].map((ref) => [`${ref.providerName}/${ref.model}`, ref]));
      const key = [...distinct.keys()].join(' ');
      const found = resolved.get(key) ?? open(first, [...distinct.values()].slice(1));
      resolved.set(key, found);
      return found;
    },
    async body(providerName, request) {
      const config = configOf(configs, providerName);
      const [apiKey = null] = keysOf(config);
      return (
        (await openProvider(providerName, config, {
          apiKey,
          clock,
          program,
          plugged,
          learned,
          windowOf: windowsOf(providerName),
        }).body?.(request)) ?? null
      );
    },
    async contextWindow(modelRef) {
      try {
        const { providerName, model } = parseRef(modelRef, { configs, presets, known });
        const config = configOf(configs, providerName);
        const preset = presetOf(presets, providerName, config);
        const baseUrl = providerAddressOf(providerName, config, preset);
        if (baseUrl === null) return null;
        const [apiKey = null] = keysOf(config);
        const configured = windowOf(`${providerName}/${model}`);
        const onServer = (facts: ServerFacts): void => learned.served({ provider: providerName, model }, facts);
        if (!asksWindowOf(config, preset, vendors)) return null;
        const asked = { baseUrl, model, apiKey, headers: config.headers, clock, onServer, configured };
        const usual = vendors[preset.api]?.usualWindow ?? null;
        return (await askContextWindow(vendors, preset.api, asked)) ?? (usual === null ? null : (configured ?? usual));
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
  readonly presets: Presets;
  readonly known: readonly string[];
}

function parseRef(modelRef: string, all: Known): ModelRef {
  const ref = modelRef.trim() === 'auto' ? autoRef(all) : modelRef.trim();
  const slash = ref.indexOf('/');
  const providerName = slash === -1 ? ref : ref.slice(0, slash);
  const model = slash === -1 ? '' : ref.slice(slash + 1);
  if (!all.known.includes(providerName) || model === '') throw unknownRef(modelRef, { providerName, model }, all);
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

/** What `auto` means: the default model of the first provider that has a key, else the script. A custom address has no default model. */
function autoRef({ configs, presets }: Known): string {
  for (const name of [...presets.keys(), ...Object.keys(configs)]) {
    const config = configOf(configs, name);
    const preset = presets.get(name) ?? (hasBaseUrl(config) ? undefined : presets.get(config.kind ?? ''));
    if (preset !== undefined && isReady(preset, config)) return `${name}/${preset.defaultModel}`;
  }
  const scripted = scriptedKind(presets);
  if (scripted !== undefined) return `${scripted}/${presets.get(scripted)?.defaultModel}`;
  throw invalid('agent.model is "auto", and no provider of models has a key. Set one, or name the model.', {
    known: [...presets.keys()],
  });
}

function isReady({ defaultModel, needsBaseUrl, off }: Preset, config: ProviderConfig): boolean {
  return (
    off === undefined &&
    defaultModel !== null &&
    keysOf(config).length > 0 &&
    (needsBaseUrl !== true || hasBaseUrl(config))
  );
}

function configOf(configs: ProvidersOptions['configs'], name: string): ProviderConfig {
  return (Object.hasOwn(configs, name) ? configs[name] : undefined) ?? {};
}

function unknownRef(modelRef: string, { providerName, model }: ModelRef, { presets, known }: Known): AppError {
  const facts = { model: modelRef, known };
  if (known.includes(providerName)) {
    const written = `${providerName}/${presets.get(providerName)?.defaultModel ?? '<model>'}`;
    return invalid(`The model "${modelRef}" lacks the model's name. Write provider/model, e.g. "${written}".`, facts);
  }
  if (model === '') {
    const refs = [...presets].flatMap(([name, { defaultModel }]) =>
      defaultModel === null ? [] : [`${name}/${defaultModel}`],
    );
    const example = nearest(modelRef, refs.map(bareModel));
    const written = refs.find((ref) => bareModel(ref) === example) ?? refs[0];
    return invalid(
      `The model "${modelRef}" does not name its provider. Write provider/model, e.g. "${written}", or "auto".`,
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
