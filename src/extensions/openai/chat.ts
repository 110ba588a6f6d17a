import { sdkProvider, type EndpointOptions, type Provider, type Quirks } from '../../core/api-providers.ts';
import { fromOpenAiEvents } from './chat-events.ts';
import { toOpenAiRequest } from './chat-request.ts';
import { isOfficial, openClient } from './client.ts';

/** Most servers that speak OpenAI's API. */
export const COMPATIBLE: Quirks = {
  maxTokens: 'max_tokens',
  systemRole: 'system',
  reasoning: 'effort',
  streamUsage: true,
  callId: /^[\x21-\x7e]{1,40}$/u,
  answerAfterTools: false,
  choiceNone: true,
  body: {},
};

/** OpenAI's own API. */
export const OFFICIAL: Quirks = { ...COMPATIBLE, maxTokens: 'max_completion_tokens' };

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
