import type { OpenAI } from 'openai';
import { endpointFetch, nameErrors, sdkTimeout, type EndpointOptions, type Fetch } from '../../core/api-providers.ts';

const OFFICIAL_HOST = 'api.openai.com';

export function isOfficial({ baseUrl }: EndpointOptions): boolean {
  return baseUrl === null || URL.parse(baseUrl)?.host === OFFICIAL_HOST;
}

/** A client of the official SDK. */
export async function openClient(endpoint: EndpointOptions): Promise<OpenAI> {
  const { OpenAI } = await import('openai');
  const { APIConnectionTimeoutError, APIUserAbortError } = OpenAI;
  nameErrors({ APIConnectionTimeoutError, APIUserAbortError });
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
    fetch: withReadableErrors(endpointFetch(endpoint)),
    logLevel: 'off',
  });
}

/** Of a refusal the SDK keeps only what lies under `error`, where not every server puts its words. */
function withReadableErrors(send: Fetch): Fetch {
  return async (input, init) => {
    const response = await send(input, init);
    if (response.ok) return response;
    const text = await response.text();
    const { status, headers } = response;
    return new Response(/^\s*\{\s*"error"|^\s*$/u.test(text) ? text : JSON.stringify({ error: text }), {
      status,
      headers,
    });
  };
}
