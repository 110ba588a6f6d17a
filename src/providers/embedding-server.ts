import { AppError } from '../util/errors.ts';
import { keysOf, presetOf, type ProviderConfig } from './open-provider.ts';
import type { Preset, Presets } from './presets.ts';

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
  /** The host that texts go to. */
  readonly host: string;
}

interface EmbeddingConfig {
  readonly memory: { readonly embeddings: EmbeddingSettings };
  readonly providers: Readonly<Record<string, ProviderConfig>>;
}

const OPENAI_URL = 'https://api.openai.com/v1';

/** The model of `memory.embeddings`. Null: none is set; a sentence: what is set cannot be called. */
export function embeddingServer(
  { memory: { embeddings }, providers }: EmbeddingConfig,
  presets: Presets,
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
    baseUrl === null ? { ...entry, ...(apiKey === null ? {} : { apiKey }) } : { kind: 'openai', baseUrl, apiKey };
  try {
    const preset = presetOf(presets, name, settings);
    if (preset.api !== 'openai' && preset.hasRoot !== true) {
      return `The provider "${name}" of memory.embeddings does not speak OpenAI's API. Name one that does.`;
    }
    const address = settings.baseUrl ?? preset.baseUrl ?? OPENAI_URL;
    if (keysOf(settings).length === 0 && (settings.baseUrl ?? null) === null && preset.keyVariable !== null) {
      return `memory.embeddings.provider is "${name}", which needs a key: set memory.embeddings.apiKey.`;
    }
    return { provider: name, model, dimensions, settings, preset, host: URL.parse(address)?.host ?? address };
  } catch (error) {
    if (error instanceof AppError) return error.message;
    throw error;
  }
}

/** Whether the settings name a model that can be called. */
export function canEmbed(server: EmbeddingServer | null | string): server is EmbeddingServer {
  return server !== null && typeof server !== 'string';
}

/** How the memory is searched and where its texts go, without a full stop; as `embeddingServer` for null and sentences. */
export function meaningText(config: EmbeddingConfig, presets: Presets): string | null {
  const server = embeddingServer(config, presets);
  if (!canEmbed(server)) return server;
  return `by words and meaning; the texts of all conversations and of the memory go to ${server.host} (${server.model})`;
}
