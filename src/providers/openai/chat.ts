import { type EndpointOptions, isLocalAddress } from '../endpoint.ts';
import { withImagesRead } from '../images.ts';
import { isOfficial, openAiClients } from './client.ts';
import { fromOpenAiEvents } from './chat-events.ts';
import { toOpenAiRequest } from './chat-request.ts';
import { COMPATIBLE, OFFICIAL } from '../presets.ts';
import type { ModelRequest, Provider } from '../provider.ts';
import { streamCall } from '../wrappers/stream-call.ts';

/** OpenAI's Chat Completions, or any server that speaks it, through the official SDK (loaded at the first call). */
export function createOpenAiProvider(endpoint: EndpointOptions): Provider {
  const connect = openAiClients(endpoint);
  const quirks = { ...(isOfficial(endpoint) ? OFFICIAL : COMPATIBLE), ...endpoint.quirks };
  const target = { provider: endpoint.name, quirks };
  const bodyOf = (request: ModelRequest) => ({ ...toOpenAiRequest(request, target), ...endpoint.extraBody });
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
          return (await connect(request)).chat.completions.create(body, { signal });
        },
        read: fromOpenAiEvents,
      }),
    body: async (request) => JSON.stringify(bodyOf(await withImagesRead(request))),
    warm: async () => {
      await connect().catch(() => {});
    },
  };
}
