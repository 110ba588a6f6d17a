import type { Context } from 'hono';
import * as z from 'zod';
import type { App } from '../../app.ts';
import { errorMessage } from '../../util/errors.ts';
import { ApiError, parsed } from './errors.ts';

const MOST_TEXTS = 2_048;

const schema = z.looseObject({
  model: z.string(),
  input: z.union([z.string().min(1), z.array(z.string().min(1)).min(1).max(MOST_TEXTS)], {
    error: `it must be a text, or a list of 1 to ${MOST_TEXTS} texts`,
  }),
  dimensions: z.int().min(1).nullish(),
  encoding_format: z.enum(['float', 'base64']).nullish(),
});

/** Answers `POST /v1/embeddings` by the model of `memory.embeddings`; whatever model the request names is ignored. */
export async function createEmbeddings(context: Context, json: unknown, app: App): Promise<Response> {
  const { input, dimensions, encoding_format } = parsed(schema, json);
  const embedder = app.api.embedder();
  if (embedder === null) {
    throw new ApiError(
      404,
      'No model for embeddings is configured. Set memory.embeddings in the configuration, such as {"provider": "openai", "model": "text-embedding-3-small"}.',
      { code: 'embeddings_not_configured' },
    );
  }
  const texts = typeof input === 'string' ? [input] : input;
  const signal = AbortSignal.any([context.req.raw.signal, app.closing]);
  const { vectors, tokens } = await embedder
    .embed(texts, { ...(typeof dimensions === 'number' ? { dimensions } : {}), signal })
    .catch((error: unknown) => {
      throw new ApiError(502, `${embedder.name} did not answer: ${errorMessage(error)}`, { code: 'provider_failed' });
    });
  return context.json({
    object: 'list',
    model: embedder.name,
    data: vectors.map((vector, index) => ({
      object: 'embedding',
      index,
      embedding: encoding_format === 'base64' ? base64Of(vector) : vector,
    })),
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  });
}

/** 32-bit floats, little-endian, as the official clients read them. */
function base64Of(vector: readonly number[]): string {
  const bytes = Buffer.alloc(vector.length * 4);
  for (const [n, value] of vector.entries()) bytes.writeFloatLE(value, n * 4);
  return bytes.toString('base64');
}
