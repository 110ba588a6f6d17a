import { IMAGE_BUDGET, imageBytes, imagesOf, mapImages, withinImageBudget } from '../images.ts';
import { factsOf } from './retry.ts';
import type { ModelError, ModelEvent, ModelMessage, ModelRequest, Provider } from '../provider.ts';

const MARKER = { type: 'text', text: '(an image was left out: this model cannot read images)' } as const;

/** What was learned of models, by their names. */
interface Learned {
  /** They take no images. */
  readonly blind: Set<string>;
  /** Bytes of images that a request may have, where more were too large. */
  readonly mostBytes: Map<string, number>;
}

/**
 * Asks once more without images when a model would not take them, with a note for the person, and with fewer when the
 * request had too many bytes. What was learned of a model holds from then on, so that it does not cost a call each time.
 */
export function withImageFallback(provider: Provider): Provider {
  const learned: Learned = { blind: new Set(), mostBytes: new Map() };
  return {
    name: provider.name,
    ...(provider.local === undefined ? {} : { local: provider.local }),
    chat: (request, { signal }) => chatWithImages(provider, learned, { request, signal }),
    warm: async () => provider.warm?.(),
  };
}

interface Asked {
  readonly request: ModelRequest;
  readonly signal: AbortSignal;
}

async function* chatWithImages(
  provider: Provider,
  learned: Learned,
  { request, signal }: Asked,
): AsyncGenerator<ModelEvent> {
  const { model } = request;
  const { blind } = learned;
  if (!blind.has(model) || !hasImages(request.messages)) {
    const refusal = yield* untilImagesRefused(provider, learned, { request, signal });
    if (refusal === undefined) return;
    blind.add(model);
    const message = `${model} could not read the images; asking again without them`;
    yield { type: 'restart', reason: refusal.kind, ...factsOf(refusal), waitMs: 0, message };
  }
  const note = `The model ${model} could not read the images here, so it answered without them.`;
  // Only what is new is worth a word: of older images it was said already.
  const worthSaying = !blind.has(model) || hasImages(newest(request.messages));
  for await (const event of provider.chat(withoutImages(request), { signal })) {
    if (event.type === 'request') yield { ...event, withoutImages: true };
    else yield worthSaying ? noted(event, note) : event;
  }
}

/** Gives the refusal that was about images; undefined when there is nothing more to say. */
async function* untilImagesRefused(
  provider: Provider,
  { mostBytes }: Learned,
  { request, signal }: Asked,
): AsyncGenerator<ModelEvent, ModelError | undefined> {
  const { model } = request;
  for (;;) {
    const bytes = mostBytes.get(model);
    const messages =
      bytes === undefined ? request.messages : withinImageBudget(request.messages, { ...IMAGE_BUDGET, bytes });
    const isCut = countImages(newest(messages)) < countImages(newest(request.messages));
    const note = `Not all images here fit into one request to the model ${model}: it was sent the newest of them.`;
    let refusal: ModelError | undefined;
    for await (const event of provider.chat({ ...request, messages }, { signal })) {
      const isRefused = event.type === 'error' && (event.about === 'images' || event.kind === 'request-too-large');
      if (isRefused && hasImages(messages)) refusal = event;
      else if (isRefused && event.kind === 'request-too-large') yield { ...event, kind: 'context-overflow' };
      else yield isCut ? noted(event, note) : event;
    }
    if (refusal?.kind !== 'request-too-large') return refusal;
    mostBytes.set(model, Math.floor(imageBytes(messages) / 2));
    const message = `the request was too large for ${model}; asking again with fewer images`;
    yield { type: 'restart', reason: refusal.kind, ...factsOf(refusal), waitMs: 0, message };
  }
}

function noted(event: ModelEvent, note: string): ModelEvent {
  return event.type === 'end' ? { ...event, response: { ...event.response, note } } : event;
}

/** What the model has not answered yet. */
function newest(messages: readonly ModelMessage[]): readonly ModelMessage[] {
  return messages.slice(messages.findLastIndex(({ role }) => role === 'assistant') + 1);
}

function countImages(messages: readonly ModelMessage[]): number {
  return messages.reduce((count, message) => count + imagesOf(message).length, 0);
}

function hasImages(messages: readonly ModelMessage[]): boolean {
  return countImages(messages) > 0;
}

/** The same request with a sentence for each image. */
export function withoutImages(request: ModelRequest): ModelRequest {
  return { ...request, messages: request.messages.map((message) => mapImages(message, () => MARKER)) };
}
