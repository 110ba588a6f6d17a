import type { GivenMessage } from '../../bus/api.ts';
import { ApiError } from './errors.ts';
import type { ApiBackend, KeptImage } from './backend.ts';
import * as z from 'zod';

/** One part of a message, before its image is stored. */
type Part =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly url: string; readonly param: string };

/** A message of a request, before its images are stored. */
export interface ReadMessage {
  readonly role: GivenMessage['role'];
  readonly parts: readonly Part[];
  /** It is text of others, such as a tool's result. @default false */
  readonly untrusted?: boolean;
}

/** A message of a request whose images are stored. */
export interface StoredMessage extends GivenMessage {
  readonly images: readonly KeptImage[];
}

const MOST_IMAGES = 50;

const textPart = z.looseObject({
  type: z.enum(['text', 'input_text', 'output_text', 'summary_text']),
  text: z.string(),
});
const refusalPart = z.looseObject({ type: z.literal('refusal'), refusal: z.string() });
const imagePart = z.looseObject({
  type: z.enum(['image_url', 'input_image']),
  image_url: z.union([z.string(), z.looseObject({ url: z.string() }).transform(({ url }) => url)]),
});

/** The content of a message: a text or a list of parts. */
export const contentSchema = z.union([z.string(), z.array(z.looseObject({ type: z.string() }))]).nullish();

/** Reads the content of a message. Throws for parts that the assistant cannot read. */
export function readContent(content: z.output<typeof contentSchema>, param: string): readonly Part[] {
  if (content === null || content === undefined) return [];
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return content.map((part, n) => partOf(part, `${param}.${n}`));
}

function partOf(part: { readonly type: string }, param: string): Part {
  const text = textPart.safeParse(part).data;
  if (text !== undefined) return { type: 'text', text: text.text };
  const refusal = refusalPart.safeParse(part).data;
  if (refusal !== undefined) return { type: 'text', text: refusal.refusal };
  const image = imagePart.safeParse(part).data;
  if (image !== undefined) return { type: 'image', url: image.image_url, param };
  const given = JSON.stringify(part.type.slice(0, 40));
  throw new ApiError(400, `A part of the type ${given} cannot be read. Send texts, and images as data: addresses.`, {
    param,
  });
}

/** Stores the images of messages. Throws when one is no image that models read, or lies elsewhere. */
export async function storeImages(
  messages: readonly ReadMessage[],
  keepImage: ApiBackend['keepImage'],
): Promise<readonly StoredMessage[]> {
  const count = messages.reduce((sum, { parts }) => sum + parts.filter(({ type }) => type === 'image').length, 0);
  if (count > MOST_IMAGES) throw new ApiError(400, `A request may have at most ${MOST_IMAGES} images, not ${count}.`);
  return await Promise.all(messages.map((message) => stored(message, keepImage)));
}

async function stored(message: ReadMessage, keepImage: ApiBackend['keepImage']): Promise<StoredMessage> {
  const { role, untrusted } = message;
  const images: KeptImage[] = [];
  const content: GivenMessage['content'] = [];
  for (const part of message.parts) {
    if (part.type === 'text') content.push(part);
    else {
      const image = await keepImage(bytesOf(part));
      if (image === null) {
        throw new ApiError(400, 'An image must be a PNG, JPEG, GIF or WebP of at most 3.7 MB.', { param: part.param });
      }
      images.push(image);
      content.push({ type: 'image', mediaType: image.mediaType, hash: image.hash });
    }
  }
  return { role, content, images, ...(untrusted === undefined ? {} : { untrusted }) };
}

function bytesOf({ url, param }: Extract<Part, { type: 'image' }>): Uint8Array {
  const data = /^data:[^,]{0,200};base64,(?<data>[\s\S]*)$/u.exec(url)?.groups?.['data'];
  if (data !== undefined) return Buffer.from(data, 'base64');
  throw new ApiError(
    400,
    'Images are taken as data: addresses only (data:image/png;base64,…); nothing is fetched from elsewhere.',
    { param },
  );
}

/** The texts of a message, one below the other. */
export function textOf({ content }: Pick<GivenMessage, 'content'>): string {
  return content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
}
