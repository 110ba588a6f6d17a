import { type EndpointOptions, isLocalAddress } from '../endpoint.ts';
import { withImagesRead } from '../images.ts';
import { openAiClients } from './client.ts';
import { fromResponsesEvents } from './responses-events.ts';
import { toResponsesRequest } from './responses-request.ts';
import type { ModelRequest, Provider } from '../provider.ts';
import { streamCall } from '../wrappers/stream-call.ts';

/** OpenAI's Responses API through the official SDK (loaded at the first call); nothing is stored on the server. */
export function createOpenAiResponsesProvider(endpoint: EndpointOptions): Provider {
  const connect = openAiClients(endpoint);
  const bodyOf = (request: ModelRequest) => ({ ...toResponsesRequest(request, endpoint.name), ...endpoint.extraBody });
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
          return (await connect(request)).responses.create(body, { signal });
        },
        read: fromResponsesEvents,
      }),
    body: async (request) => JSON.stringify(bodyOf(await withImagesRead(request))),
    warm: async () => {
      await connect().catch(() => {});
    },
  };
}
