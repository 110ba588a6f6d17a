import type { Context, Env, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import type { App } from '../../app.ts';
import { errorMessage } from '../../util/errors.ts';
import { chatCompletion } from './chat-completions.ts';
import { createEmbeddings } from './embeddings.ts';
import { ApiError, errorBody, openAiError } from './errors.ts';
import { MODELS, modelNamed } from './models.ts';
import { cancelResponse, createResponse } from './responses.ts';
import { storedResponse } from './response-object.ts';

/** Bytes of a request, with its images. */
const LARGEST_BODY = 20_000_000;

type Answer = (context: Context, json: unknown, app: App) => Promise<Response>;

/** Serves the API in the shapes of OpenAI's below `/v1`. Who may ask is decided before. */
export function mountOpenAi<E extends Env>(hono: Hono<E>, app: App): void {
  const limit = bodyLimit({
    maxSize: LARGEST_BODY,
    onError: (context) =>
      context.json(openAiError(413, `The body of a request has at most ${LARGEST_BODY} bytes.`), 413),
  });
  const safely = async (context: Context, answer: () => Promise<Response>): Promise<Response> => {
    try {
      return await answer();
    } catch (error) {
      const status = error instanceof ApiError ? error.status : 500;
      if (status === 500) {
        app.log.error('api: request failed', { path: context.req.path, reason: errorMessage(error) });
      }
      // A turn that failed is not begun again by a client that only repeats its request.
      context.header('X-Should-Retry', status === 429 ? 'true' : 'false');
      return context.json(errorBody(error), status);
    }
  };
  const post = (path: string, answer: Answer): void => {
    hono.post(path, limit, (context) => safely(context, async () => answer(context, await jsonOf(context), app)));
  };
  hono.get('/v1/models', (context) => context.json({ object: 'list', data: MODELS }));
  hono.get('/v1/models/:id', (context) =>
    safely(context, async () => context.json(modelNamed(context.req.param('id')))),
  );
  post('/v1/chat/completions', chatCompletion);
  post('/v1/responses', createResponse);
  hono.get('/v1/responses/:id', (context) =>
    safely(context, async () => context.json(await storedResponse(context.req.param('id'), app))),
  );
  hono.post('/v1/responses/:id/cancel', (context) =>
    safely(context, async () => context.json(await cancelResponse(context.req.param('id'), app))),
  );
  post('/v1/embeddings', createEmbeddings);
}

async function jsonOf(context: Context): Promise<unknown> {
  try {
    return await context.req.json();
  } catch {
    throw new ApiError(400, 'The body of the request is not valid JSON.');
  }
}
