import type { Anthropic } from '@anthropic-ai/sdk';
import { fromAnthropicEvents } from './messages-events.ts';
import { toAnthropicRequest } from './messages-request.ts';
import { type EndpointOptions, isLocalAddress } from '../endpoint.ts';
import { withImagesRead } from '../images.ts';
import type { ModelRequest, Provider } from '../provider.ts';
import { clientsFor, endpointFetch, sdkTimeout, streamCall } from '../wrappers/stream-call.ts';

const OFFICIAL_HOST = 'api.anthropic.com';

/** Anthropic's Messages API, or a server that speaks it, through the official SDK (loaded at the first call). */
export function createAnthropicProvider(endpoint: EndpointOptions): Provider {
  const official = endpoint.baseUrl === null || URL.parse(endpoint.baseUrl)?.host === OFFICIAL_HOST;
  const connect = clientsFor(endpoint, (options) => openClient(options, official));
  const target = { provider: endpoint.name, official };
  const bodyOf = (request: ModelRequest) => ({ ...toAnthropicRequest(request, target), ...endpoint.extraBody });
  return {
    name: endpoint.name,
    local: isLocalAddress(endpoint.baseUrl),
    chat: (request, { signal }) =>
      streamCall({
        endpoint,
        request,
        signal,
        open: async (signal, ready) => {
          const body = bodyOf(ready);
          return (await connect(request)).messages.create(body, { signal });
        },
        read: fromAnthropicEvents,
      }),
    body: async (request) => JSON.stringify(bodyOf(await withImagesRead(request))),
    warm: async () => {
      await connect().catch(() => {});
    },
  };
}

async function openClient(endpoint: EndpointOptions, official: boolean): Promise<Anthropic> {
  const { Anthropic } = await import('@anthropic-ai/sdk');
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
