import type { Anthropic } from '@anthropic-ai/sdk';
import {
  endpointFetch,
  nameErrors,
  sdkProvider,
  sdkTimeout,
  type EndpointOptions,
  type Provider,
} from '../../core/api-providers.ts';
import { fromAnthropicEvents } from './messages-events.ts';
import { toAnthropicRequest } from './messages-request.ts';

const OFFICIAL_HOST = 'api.anthropic.com';

/** Anthropic's Messages API, or a server that speaks it. */
export function createAnthropicProvider(endpoint: EndpointOptions): Provider {
  const official = endpoint.baseUrl === null || URL.parse(endpoint.baseUrl)?.host === OFFICIAL_HOST;
  return sdkProvider(endpoint, {
    open: (options) => openClient(options, official),
    body: (request) => toAnthropicRequest(request, { provider: endpoint.name, official }),
    send: (client, request) => client.post('/v1/messages', request).asResponse(),
    read: fromAnthropicEvents,
  });
}

async function openClient(endpoint: EndpointOptions, official: boolean): Promise<Anthropic> {
  const { Anthropic } = await import('@anthropic-ai/sdk');
  const { APIConnectionTimeoutError, APIUserAbortError } = Anthropic;
  nameErrors({ APIConnectionTimeoutError, APIUserAbortError });
  const { apiKey, headers } = endpoint;
  // Compatible servers know the older version and its key header; a null header takes the SDK's own out.
  const dialect = { Authorization: null, 'x-api-key': apiKey, 'anthropic-version': '2023-06-01' };
  return new Anthropic({
    // Without a key the SDK would look for one in the environment and in files of other programs.
    apiKey: apiKey ?? 'none',
    baseURL: withoutVersion(endpoint.baseUrl ?? `https://${OFFICIAL_HOST}`),
    defaultHeaders: { ...(official ? {} : dialect), ...headers },
    maxRetries: 0,
    timeout: sdkTimeout(endpoint),
    fetch: endpointFetch(endpoint),
    logLevel: 'off',
    openTelemetry: false,
  });
}

/** The SDK adds `/v1` itself; people write it as other APIs want it. */
function withoutVersion(baseUrl: string): string {
  return baseUrl.replace(/\/+$/u, '').replace(/\/v1$/u, '');
}
