import type { Clock } from '../util/clock.ts';
import { AppError } from '../util/errors.ts';
import { keysOf } from './endpoint.ts';
import { presetOf, toEndpoint, type ProviderConfig } from './open-provider.ts';
import { usualKind, type Preset } from './presets.ts';
import type { Embed, ModelServices, Vendor } from './vendor.ts';

/** How `memory.embeddings` names a model that makes vectors of texts. */
export interface EmbeddingSettings {
  /** An entry of `config.providers`; null: none. */
  readonly provider: string | null;
  /** A server of its own; null: that of the provider. */
  readonly baseUrl: string | null;
  readonly apiKey: string | null;
  readonly model: string | null;
  /** How many numbers a vector is to have; null: as many as the model gives. */
  readonly dimensions: number | null;
}

/** A model that makes vectors, as it is called. */
export interface EmbeddingServer {
  /** The provider's name, or `embeddings`. */
  readonly provider: string;
  readonly model: string;
  readonly dimensions: number | null;
  readonly settings: ProviderConfig;
  readonly preset: Preset;
  readonly open: NonNullable<Vendor['embeddings']>;
  /** The host that texts go to. */
  readonly host: string;
}

interface EmbeddingConfig {
  readonly memory: { readonly embeddings: EmbeddingSettings };
  readonly providers: Readonly<Record<string, ProviderConfig>>;
}

/** The model of `memory.embeddings`. Null: none is set; a sentence: what is set cannot be called. */
export function embeddingServer(
  { memory: { embeddings }, providers }: EmbeddingConfig,
  { presets, vendors }: ModelServices,
): EmbeddingServer | null | string {
  const { provider, baseUrl, apiKey, model, dimensions } = embeddings;
  if (provider === null && baseUrl === null && model === null) return null;
  if (model === null) return 'memory.embeddings names a server and no model: set memory.embeddings.model.';
  if (provider === null && baseUrl === null) {
    return 'memory.embeddings names a model and no server: set memory.embeddings.provider or memory.embeddings.baseUrl.';
  }
  const entry = provider !== null && Object.hasOwn(providers, provider) ? (providers[provider] ?? {}) : {};
  const name = provider ?? 'embeddings';
  // A key is sent to the server that it was written down for.
  const settings: ProviderConfig =
    baseUrl === null
      ? { ...entry, ...(apiKey === null ? {} : { apiKey }) }
      : { kind: usualKind(presets), baseUrl, apiKey };
  try {
    const preset = presetOf(presets, name, settings);
    const { api } = (preset.hasRoot === true ? presets.get(usualKind(presets) ?? '') : undefined) ?? preset;
    const open = vendors[api]?.embeddings;
    if (open === undefined) {
      return `The provider "${name}" of memory.embeddings does not speak OpenAI's API. Name one that does.`;
    }
    const address = settings.baseUrl ?? preset.baseUrl ?? preset.ownUrl ?? '';
    if (keysOf(settings).length === 0 && (settings.baseUrl ?? null) === null && preset.keyVariable !== null) {
      return `memory.embeddings.provider is "${name}", which needs a key: set memory.embeddings.apiKey.`;
    }
    return { provider: name, model, dimensions, settings, preset, open, host: URL.parse(address)?.host ?? address };
  } catch (error) {
    if (error instanceof AppError) return error.message;
    throw error;
  }
}

/** Opens a model; its vendor's code is loaded at the first call. Throws an `AppError` for one that cannot be called. */
export function openEmbeddings(
  {
    provider,
    model,
    settings,
    preset,
    open,
  }: Pick<EmbeddingServer, 'provider' | 'model' | 'settings' | 'preset' | 'open'>,
  clock: Clock,
): Embed {
  const [apiKey = null] = keysOf(settings);
  const endpoint = toEndpoint(provider, settings, { preset, apiKey, clock });
  const baseUrl = preset.hasRoot === true ? `${endpoint.baseUrl}/v1` : endpoint.baseUrl;
  let embed: Promise<Embed> | undefined;
  const opened = (): Promise<Embed> =>
    (embed ??= open({ ...endpoint, baseUrl }, model).catch((error: unknown) => {
      embed = undefined;
      throw error;
    }));
  return async (texts, options) => await (await opened())(texts, options);
}

/** Whether the settings name a model that can be called. */
export function canEmbed(server: EmbeddingServer | null | string): server is EmbeddingServer {
  return server !== null && typeof server !== 'string';
}

/** How the memory is searched and where its texts go, without a full stop; as `embeddingServer` for null and sentences. */
export function meaningText(config: EmbeddingConfig, program: ModelServices): string | null {
  const server = embeddingServer(config, program);
  if (!canEmbed(server)) return server;
  return `by words and meaning; the texts of all conversations and of the memory go to ${server.host} (${server.model})`;
}
