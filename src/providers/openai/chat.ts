import type { EndpointOptions } from '../endpoint.ts';
import { COMPATIBLE, OFFICIAL } from '../presets.ts';
import type { Provider } from '../provider.ts';
import { sdkProvider } from '../sdk-provider.ts';
import { fromOpenAiEvents } from './chat-events.ts';
import { toOpenAiRequest } from './chat-request.ts';
import { isOfficial, openClient } from './client.ts';

/** OpenAI's Chat Completions, or any server that speaks it. */
export function createOpenAiProvider(endpoint: EndpointOptions): Provider {
  const quirks = { ...(isOfficial(endpoint) ? OFFICIAL : COMPATIBLE), ...endpoint.quirks };
  return sdkProvider(endpoint, {
    open: openClient,
    body: (request) => toOpenAiRequest(request, { provider: endpoint.name, quirks }),
    send: (client, request) => client.post('/chat/completions', request).asResponse(),
    read: (raw: Parameters<typeof fromOpenAiEvents>[0], context) => fromOpenAiEvents(raw, context, endpoint.clock),
  });
}
