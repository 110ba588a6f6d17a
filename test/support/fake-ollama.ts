import { startFakeOpenAi } from './fake-openai.ts';
import { readBody, replyJson, startServer } from './http.ts';

export interface FakeOllama extends AsyncDisposable {
  /** Of the server; its OpenAI-compatible API is below `/v1`. */
  readonly url: string;
  /** Characters of each prompt that the model saw, oldest first. */
  readonly seen: readonly string[];
}

/** Four characters are about a token. */
const TOKEN_CHARS = 4;

/**
 * An Ollama with one model: it loads the model at the first call with `window` tokens, cuts longer prompts off at the
 * front without a word, and ignores `num_ctx` in its OpenAI-compatible API. A model that is not loaded is shown with what it was
 * trained for.
 */
export async function startFakeOllama(
  options: { readonly model?: string; /** @default 4,096 */ readonly window?: number } = {},
): Promise<FakeOllama> {
  const { model = 'qwen3:8b', window = 4_096 } = options;
  const seen: string[] = [];
  let isLoaded = false;
  const openai = await startFakeOpenAi({
    models: [model],
    handler: ({ text }) => {
      isLoaded = true;
      seen.push(text.slice(-window * TOKEN_CHARS));
      return 'Ready.';
    },
  });
  const server = await startServer(async (request, response) => {
    const path = request.url ?? '';
    const body = await readBody(request);
    if (path === '/api/ps') {
      replyJson(response, 200, { models: isLoaded ? [{ model, context_length: window }] : [] });
    } else if (path === '/api/show') {
      replyJson(response, 200, { model_info: { 'qwen3.context_length': 40_960 } });
    } else {
      const answer = await fetch(openai.url.replace('/v1', '') + path, {
        method: request.method ?? 'GET',
        headers: { 'content-type': 'application/json' },
        ...(body === '' ? {} : { body }),
      });
      response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'application/json' });
      response.end(await answer.text());
    }
  });
  return {
    url: server.url,
    seen,
    [Symbol.asyncDispose]: async () => {
      await server.close();
      await openai.close();
    },
  };
}
