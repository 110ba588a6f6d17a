import * as z from 'zod';
import {
  createWatchedFetch,
  deadlinesOf,
  endpointFetch,
  type EndpointOptions,
  type Fetch,
  forThinking,
  rootOf,
  type WireBody,
  wireJson,
} from '../../core/api-providers.ts';
import { readOllamaModel, UNKNOWN_MODEL, type OllamaModel } from './model.ts';

/** What Ollama says when it fails, with a status or in the middle of a stream. */
export class OllamaError extends Error {
  /** HTTP status; undefined in the middle of a stream. */
  readonly status: number | undefined;
  readonly headers: Headers | undefined;
  /** The server's own words. */
  readonly error: string;

  constructor(said: string, status?: number, headers?: Headers) {
    super(said === '' ? `Ollama answered ${status}` : said);
    this.name = 'OllamaError';
    this.error = said;
    this.status = status;
    this.headers = headers;
  }
}

const errorBody = z.object({ error: z.string() });

/** The two calls of Ollama's API that a model call takes. Both throw an `OllamaError` for an answer that is an error. */
export interface OllamaClient {
  show(model: string, signal: AbortSignal): Promise<OllamaModel>;
  /** The parsed lines of the answer. */
  chat(body: WireBody, options: { readonly signal: AbortSignal }): Promise<AsyncIterable<unknown>>;
}

export function createOllamaClient(endpoint: EndpointOptions): OllamaClient {
  const root = rootOf(endpoint.baseUrl ?? '');
  const patient = endpointFetch(endpoint);
  const morePatient = endpointFetch(forThinking(endpoint));
  const asking = createWatchedFetch({ clock: endpoint.clock, ...deadlinesOf(endpoint) });
  const post = async (path: string, body: object, call: { fetch: Fetch; signal: AbortSignal }): Promise<Response> => {
    const response = await call.fetch(root + path, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(endpoint.apiKey === null ? {} : { authorization: `Bearer ${endpoint.apiKey}` }),
        ...endpoint.headers,
      },
      body: wireJson(body),
      signal: call.signal,
    });
    if (!response.ok) throw new OllamaError(saidIn(await response.text()), response.status, response.headers);
    return response;
  };
  return {
    async show(model, signal) {
      try {
        const response = await post('/api/show', { model }, { fetch: asking, signal });
        return readOllamaModel(await response.json());
      } catch (error) {
        // What stands before some servers lets only a few paths through.
        if (error instanceof OllamaError && (error.status === 403 || error.status === 405)) return UNKNOWN_MODEL;
        throw error;
      }
    },
    async chat(body, { signal }) {
      const thinks = body['think'] !== undefined && body['think'] !== false;
      return linesOf(await post('/api/chat', body, { fetch: thinks ? morePatient : patient, signal }));
    },
  };
}

function saidIn(text: string): string {
  try {
    return errorBody.safeParse(JSON.parse(text)).data?.error ?? text;
  } catch {
    return text;
  }
}

/** The lines of a body, each parsed as JSON. Throws a `SyntaxError` for one that is none; a page of HTML has no lines. */
async function* linesOf(response: Response): AsyncGenerator {
  if (response.body === null || /html/iu.test(response.headers.get('content-type') ?? '')) return;
  let rest = '';
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line.trim() !== '') yield JSON.parse(line);
  }
  if (rest.trim() !== '') yield JSON.parse(rest);
}
