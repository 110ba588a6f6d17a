import type { Clock } from '../../util/clock.ts';
import type { EmbeddingServer } from '../embedding-server.ts';
import { keysOf, toEndpoint } from '../open-provider.ts';
import { readUsage } from '../read-usage.ts';
import { tokensOfText } from '../token-estimate.ts';
import { clientsFor } from '../wrappers/stream-call.ts';
import { openClient } from './client.ts';

/** Vectors of texts, in their order, and the tokens that they took. */
export interface Embeddings {
  readonly vectors: readonly (readonly number[])[];
  readonly tokens: number;
  /** The server doesn't count its tokens. */
  readonly estimated: boolean;
}

/** Makes vectors of texts by OpenAI's API, there or at a compatible server. Rejects with a sentence when the server does not. */
export type Embed = (
  texts: readonly string[],
  options: { readonly dimensions?: number; readonly signal: AbortSignal },
) => Promise<Embeddings>;

/** Opens a model. Throws an `AppError` for one that cannot be called. */
export function openEmbeddings(
  { provider, model, settings, preset }: Pick<EmbeddingServer, 'provider' | 'model' | 'settings' | 'preset'>,
  clock: Clock,
): Embed {
  const [apiKey = null] = keysOf(settings);
  const endpoint = toEndpoint(provider, settings, { preset, apiKey, clock });
  const baseUrl = preset.hasRoot === true ? `${endpoint.baseUrl}/v1` : endpoint.baseUrl;
  const client = clientsFor({ ...endpoint, baseUrl }, openClient);
  return async (texts, { dimensions, signal }) => {
    const asked = { model, input: [...texts], encoding_format: 'float' as const };
    const { embeddings } = await client();
    const { data, usage } = await embeddings.create(
      { ...asked, ...(dimensions === undefined ? {} : { dimensions }) },
      { signal },
    );
    if (data.length !== texts.length) {
      throw new Error(`it sent ${data.length} vectors for ${texts.length} texts`);
    }
    const vectors = data.toSorted((a, b) => a.index - b.index).map(({ embedding }) => embedding);
    const told = readUsage(usage)?.input ?? 0;
    const estimate = texts.reduce((sum, text) => sum + tokensOfText(text), 0);
    return { vectors, tokens: told === 0 ? estimate : told, estimated: told === 0 };
  };
}
