import type { App } from '../../app.ts';
import type { ModelEvent, ModelMessage, ModelRequest, ModelResponse } from '../../providers/provider.ts';
import type { ChosenModel } from '../turn/current-turn.ts';

type Clean = (text: string) => string;

/**
 * The model of a reference for questions of the program's own, whose answers go into the memory: what it is sent and what
 * it answers in the end is free of secrets.
 */
export function cleanModel({ models, redact }: App, ref: string | null): ChosenModel {
  const model = models.resolve(ref);
  const { provider } = model;
  return {
    ...model,
    provider: {
      name: provider.name,
      ...(provider.local === undefined ? {} : { local: provider.local }),
      chat: (request, options) => cleanEvents(provider.chat(cleanRequest(request, redact), options), redact),
      warm: async () => provider.warm?.(),
    },
  };
}

async function* cleanEvents(events: AsyncIterable<ModelEvent>, redact: Clean): AsyncGenerator<ModelEvent> {
  for await (const event of events) {
    if (event.type === 'end') yield { ...event, response: cleanResponse(event.response, redact) };
    else if (event.type === 'error') yield { ...event, message: redact(event.message) };
    else yield event;
  }
}

function cleanResponse(response: ModelResponse, redact: Clean): ModelResponse {
  const content = response.content.map((part) => {
    if (part.type === 'text') return { ...part, text: redact(part.text) };
    return part.type === 'tool-call' ? { ...part, arguments: redact(part.arguments) } : part;
  });
  return { ...response, content };
}

function cleanRequest(request: ModelRequest, redact: Clean): ModelRequest {
  return {
    ...request,
    system: request.system.map(redact),
    messages: request.messages.map((message) => cleanMessage(message, redact)),
  };
}

/** What a tool or a model said was clean when it was written down. */
function cleanMessage(message: ModelMessage, redact: Clean): ModelMessage {
  if (message.role !== 'user') return message;
  const content = message.content.map((part) => (part.type === 'text' ? { ...part, text: redact(part.text) } : part));
  return { ...message, content };
}
