import {
  type EndpointOptions,
  type ErrorContext,
  imagesOf,
  isLocalAddress,
  type ModelEvent,
  type ModelRequest,
  type Provider,
  streamCall,
  withImagesRead,
  withQuirks,
  withTextCalls,
} from '../../core/api-providers.ts';
import { fromOllamaEvents } from './chat-events.ts';
import { takesTools, toOllamaRequest, type OllamaBody } from './chat-request.ts';
import { createOllamaClient, OllamaError } from './client.ts';
import type { OllamaModel } from './model.ts';

/** What `/api/show` said is believed for this long: a model may be pulled anew. */
const KNOWN_FOR_MS = 300_000;

/** Ollama's own chat API. `windowOf` gives the tokens of context that are configured for a model; null: not configured. */
export function createOllamaProvider(
  endpoint: EndpointOptions,
  windowOf: (model: string) => number | null = () => null,
): Provider {
  const client = createOllamaClient(endpoint);
  const shown = knownModels(endpoint, (model, signal) => client.show(model, signal));
  /** Models of which the person was told that they cannot use tools. */
  const told = new Set<string>();

  const bodyOf = (request: ModelRequest, model: OllamaModel): OllamaBody => {
    const { extraBody = {}, name } = endpoint;
    const body = toOllamaRequest(request, { provider: name, model, window: windowOf(request.model) });
    const { options } = extraBody;
    return { ...body, ...extraBody, options: { ...body.options, ...(typeof options === 'object' ? options : {}) } };
  };

  async function* read(raw: AsyncIterable<unknown>, context: ErrorContext, note: string | null) {
    for await (const event of fromOllamaEvents(raw, context)) {
      if (note === null || event.type !== 'end') {
        yield event;
        continue;
      }
      told.add(context.model);
      yield { ...event, response: { ...event.response, note } };
    }
  }

  return {
    name: endpoint.name,
    local: isLocalAddress(endpoint.baseUrl),
    chat: (request, { signal }): AsyncIterable<ModelEvent> => {
      let note: string | null = null;
      let offered = request.tools;
      const events = streamCall({
        endpoint,
        request,
        signal,
        body: async (ready, signal) => {
          const model = await shown(request.model, signal);
          refuse(ready, model);
          const wants = request.toolChoice === 'auto' && request.tools.length > 0;
          if (!takesTools(model)) offered = [];
          if (wants && !takesTools(model) && !told.has(request.model)) note = withoutTools(request.model);
          return { ...bodyOf(ready, model) };
        },
        send: (body, signal) => client.chat(body, { signal }),
        read: (raw, context) => read(raw, context, note),
      });
      return withTextCalls(events, request, () => offered);
    },
    body: async (request) => {
      const { signal } = new AbortController();
      const [ready, model] = await Promise.all([withImagesRead(request), shown(request.model, signal)]);
      const quirks =
        request.quirks ?? endpoint.learned?.quirks({ provider: endpoint.name, model: request.model }) ?? [];
      return JSON.stringify(withQuirks({ ...bodyOf(ready, model) }, quirks));
    },
  };
}

/** Asks for what is known of a model, once for several calls. A failure is asked about again. */
function knownModels(
  { clock }: EndpointOptions,
  ask: (model: string, signal: AbortSignal) => Promise<OllamaModel>,
): (model: string, signal: AbortSignal) => Promise<OllamaModel> {
  const known = new Map<string, { readonly model: OllamaModel; readonly until: number }>();
  return async (name, signal) => {
    const found = known.get(name);
    if (found !== undefined && clock.monotonic() < found.until) return found.model;
    const model = await ask(name, signal);
    known.set(name, { model, until: clock.monotonic() + KNOWN_FOR_MS });
    return model;
  };
}

/** Throws for what Ollama would pass over without a word, so that the caller asks in another way. */
function refuse({ messages, toolChoice }: ModelRequest, { capabilities }: OllamaModel): void {
  if (typeof toolChoice === 'object') throw new OllamaError('Ollama knows no tool_choice.', 400);
  if (capabilities?.has('vision') === false && messages.some((message) => imagesOf(message).length > 0)) {
    throw new OllamaError('this model does not support images', 400);
  }
}

function withoutTools(model: string): string {
  return `The model ${model} cannot use tools, so it only talks here: it reads no files, searches nothing and remembers nothing by itself. Choose one that can with /model, e.g. qwen3.`;
}
