import type { OpenAI } from 'openai';
import type { EndpointOptions } from './endpoint.ts';
import { fromOpenAiEvents } from './openai-events.ts';
import { toOpenAiRequest } from './openai-request.ts';
import type { Provider } from './provider.ts';
import { endpointFetch, sdkTimeout, streamCall } from './stream-call.ts';

const OFFICIAL_HOST = 'api.openai.com';

/** OpenAI's Chat Completions, or any server that speaks it, through the official SDK (loaded at the first call). */
export function createOpenAiProvider(endpoint: EndpointOptions): Provider {
  const official = endpoint.baseUrl === null || URL.parse(endpoint.baseUrl)?.host === OFFICIAL_HOST;
  let client: Promise<OpenAI> | undefined;
  const connect = (): Promise<OpenAI> => {
    client ??= openClient(endpoint).catch((error: unknown) => {
      client = undefined;
      throw error;
    });
    return client;
  };
  const target = { provider: endpoint.name, official };
  return {
    name: endpoint.name,
    chat: (request, { signal }) =>
      streamCall({
        endpoint,
        request,
        signal,
        open: async (signal) => {
          const body = { ...toOpenAiRequest(request, target), ...endpoint.extraBody };
          return (await connect()).chat.completions.create(body, { signal });
        },
        read: fromOpenAiEvents,
      }),
    warm: async () => {
      await connect().catch(() => {});
    },
  };
}

async function openClient(endpoint: EndpointOptions): Promise<OpenAI> {
  const { OpenAI } = await import('openai');
  const { apiKey, headers } = endpoint;
  return new OpenAI({
    // Every credential is named, because the SDK looks for missing ones in the environment; it insists on a key.
    apiKey: apiKey ?? 'none',
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null,
    baseURL: endpoint.baseUrl ?? `https://${OFFICIAL_HOST}/v1`,
    defaultHeaders: { ...(apiKey === null ? { Authorization: null } : {}), ...headers },
    maxRetries: 0,
    timeout: sdkTimeout(endpoint),
    fetch: endpointFetch(endpoint),
    logLevel: 'off',
  });
}
