import { sdkProvider, type EndpointOptions, type Provider } from '../../core/api-providers.ts';
import { openClient } from './client.ts';
import { fromResponsesEvents } from './responses-events.ts';
import { toResponsesRequest } from './responses-request.ts';

/** OpenAI's Responses API; nothing is stored on the server. */
export function createOpenAiResponsesProvider(endpoint: EndpointOptions): Provider {
  return sdkProvider(endpoint, {
    open: openClient,
    body: (request) => toResponsesRequest(request, endpoint.name),
    send: (client, request) => client.post('/responses', request).asResponse(),
    read: fromResponsesEvents,
  });
}
