import type { ModelError, ModelEvent, ModelMessage, ModelRequest, Provider } from './provider.ts';

const MARKER = { type: 'text', text: '(an image was left out: this model can not read images)' } as const;

/**
 * Asks once more without images when a model would not take them, with a note for the person. A model that said that
 * it takes none is from then on asked without, so that it does not cost a call each time.
 */
export function withImageFallback(provider: Provider): Provider {
  const blind = new Set<string>();
  return {
    name: provider.name,
    ...(provider.local === undefined ? {} : { local: provider.local }),
    chat: (request, { signal }) => chatWithImages(provider, blind, { request, signal }),
    warm: async () => provider.warm?.(),
  };
}

async function* chatWithImages(
  provider: Provider,
  blind: Set<string>,
  { request, signal }: { readonly request: ModelRequest; readonly signal: AbortSignal },
): AsyncGenerator<ModelEvent> {
  const { model } = request;
  if (!request.messages.some(hasImages)) {
    yield* provider.chat(request, { signal });
    return;
  }
  if (!blind.has(model)) {
    const refusal = yield* untilImagesRefused(provider, request, signal);
    if (refusal === undefined) return;
    if (refusal.about === 'images') blind.add(model);
    const message = `${model} could not read the images; asking again without them`;
    yield { type: 'restart', reason: refusal.kind, waitMs: 0, message };
  }
  const note = `The model ${model} could not read the images here, so it answered without them.`;
  // Only what is new is worth a word: of older images it was said already.
  const worthSaying = !blind.has(model) || newestHasImages(request.messages);
  for await (const event of provider.chat(withoutImages(request), { signal })) {
    if (event.type === 'request') {
      yield { ...event, withoutImages: true };
      continue;
    }
    yield event.type === 'end' && worthSaying ? { ...event, response: { ...event.response, note } } : event;
  }
}

async function* untilImagesRefused(
  provider: Provider,
  request: ModelRequest,
  signal: AbortSignal,
): AsyncGenerator<ModelEvent, ModelError | undefined> {
  for await (const event of provider.chat(request, { signal })) {
    if (event.type === 'error' && event.about !== undefined) return event;
    yield event;
  }
  return undefined;
}

function newestHasImages(messages: readonly ModelMessage[]): boolean {
  return messages.slice(messages.findLastIndex(({ role }) => role === 'assistant') + 1).some(hasImages);
}

function hasImages(message: ModelMessage): boolean {
  if (message.role === 'tool') return (message.images ?? []).length > 0;
  return message.role === 'user' && message.content.some(({ type }) => type === 'image');
}

/** The same request with a sentence for each image. */
export function withoutImages(request: ModelRequest): ModelRequest {
  return { ...request, messages: request.messages.map(strip) };
}

function strip(message: ModelMessage): ModelMessage {
  if (!hasImages(message)) return message;
  switch (message.role) {
    case 'user':
      return { ...message, content: message.content.map((part) => (part.type === 'image' ? MARKER : part)) };
    case 'tool': {
      const { images: _left, ...rest } = message;
      return { ...rest, output: `${message.output}\n${MARKER.text}` };
    }
    case 'assistant':
      return message;
  }
}
