import { clientsFor, readUsage, tokensOfText, type EndpointOptions } from '../../core/api-providers.ts';
import type { Embed } from '../../core/api-vendors.ts';
import { openClient } from './client.ts';

/** Makes vectors of texts by OpenAI's API, there or at a compatible server. */
export function openEmbeddings(endpoint: EndpointOptions, model: string): Embed {
  const client = clientsFor(endpoint, openClient);
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
