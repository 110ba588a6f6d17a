import type { ImagePart, ModelMessage, ModelRequest, UserPart } from './provider.ts';

/** What the images of a request may be at most. Anthropic's whole request may have 32 MB, and base64 makes 4 bytes of 3. */
export const IMAGE_BUDGET: ImageBudget = { images: 20, bytes: 20_000_000 };

export interface ImageBudget {
  readonly images: number;
  /** Before base64. */
  readonly bytes: number;
}

/**
 * What remains of the budget when it is exceeded: a request then changes near its beginning, where the provider has it
 * in its cache, once for many new images and not for each.
 */
const KEPT_SHARE = 0.6;

const LEFT_OUT: UserPart = { type: 'text', text: '[An older image, left out to keep the request small.]' };
const GONE: UserPart = { type: 'text', text: '[An image that is no longer available.]' };

export function imagesOf(message: ModelMessage): readonly ImagePart[] {
  if (message.role === 'tool') return message.images ?? [];
  return message.role === 'user' ? message.content.filter((part) => part.type === 'image') : [];
}

/** Of all images, before base64. */
export function imageBytes(messages: readonly ModelMessage[]): number {
  return messages.flatMap(imagesOf).reduce((sum, image) => sum + sizeOf(image), 0);
}

/**
 * The messages with their newest images only, markers in place of the others. Depends on nothing but the messages, and
 * one that is added at the end changes what is before it only when it exceeds the budget.
 */
export function withinImageBudget(
  messages: readonly ModelMessage[],
  budget: ImageBudget = IMAGE_BUDGET,
): readonly ModelMessage[] {
  const images = messages.flatMap((message, place) =>
    imagesOf(message).map((image) => ({ place, size: sizeOf(image) })),
  );
  let first = 0;
  let bytes = 0;
  const exceeds = (at: number, share: number): boolean =>
    first <= at && (at - first + 1 > share * budget.images || bytes > share * budget.bytes);
  const leave = (): void => {
    bytes -= images[first]?.size ?? 0;
    first += 1;
  };
  for (const [at, { place, size }] of images.entries()) {
    bytes += size;
    if (!exceeds(at, 1)) continue;
    // Of the message that is too much itself, only as many leave as have to.
    while (images[first]?.place !== place && exceeds(at, KEPT_SHARE)) leave();
    while (exceeds(at, 1)) leave();
  }
  return first === 0 ? messages : withoutOldest(messages, first);
}

function withoutOldest(messages: readonly ModelMessage[], count: number): readonly ModelMessage[] {
  let left = count;
  return messages.map((message) => {
    if (left === 0 || imagesOf(message).length === 0) return message;
    return mapImages(message, (image) => {
      if (left === 0) return image;
      left -= 1;
      return LEFT_OUT;
    });
  });
}

/** The request with the bytes of its images, read one after the other, as its body needs them. */
export async function withImagesRead(request: ModelRequest): Promise<ModelRequest> {
  const read = new Map<ImagePart, UserPart>();
  for (const image of request.messages.flatMap(imagesOf)) {
    if ('data' in image || read.has(image)) continue;
    const data = await image.read();
    read.set(image, data === undefined ? GONE : { type: 'image', mediaType: image.mediaType, data });
  }
  if (read.size === 0) return request;
  return {
    ...request,
    messages: request.messages.map((message) =>
      imagesOf(message).length === 0 ? message : mapImages(message, (image) => read.get(image) ?? image),
    ),
  };
}

/** Of a tool's result, what takes the place of an image stands below its text. */
export function mapImages(message: ModelMessage, map: (image: ImagePart) => UserPart): ModelMessage {
  switch (message.role) {
    case 'user':
      return { ...message, content: message.content.map((part) => (part.type === 'image' ? map(part) : part)) };
    case 'tool': {
      const { images = [], ...rest } = message;
      const parts = images.map(map);
      const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []));
      const kept = parts.filter((part) => part.type === 'image');
      return { ...rest, output: [message.output, ...texts].join('\n'), ...(kept.length > 0 ? { images: kept } : {}) };
    }
    case 'assistant':
      return message;
  }
}

function sizeOf(image: ImagePart): number {
  return 'data' in image ? Math.floor((image.data.length * 3) / 4) : image.size;
}
