import { readFile, stat } from 'node:fs/promises';
import type { Media } from '../../bus/messages.ts';
import type { MediaStore } from '../../storage/media.ts';
import { imageType, MOST_IMAGE_BYTES } from '../../files/text.ts';

type Part =
  | { readonly type: 'image'; readonly mediaType: string; readonly hash: string }
  | { readonly type: 'text'; readonly text: string };

export type ImageStore = Pick<MediaStore, 'put'>;

/** Stores the images of a message or result; returns image parts, or for each failure a sentence with the reason. */
export async function imageParts(media: readonly Media[], store: ImageStore): Promise<readonly Part[]> {
  return Promise.all(media.filter(({ kind }) => kind === 'image').map((item) => imagePart(item, store)));
}

async function imagePart({ path, name }: Media, store: ImageStore): Promise<Part> {
  const label = name ?? 'image';
  try {
    const { size } = await stat(path);
    if (size > MOST_IMAGE_BYTES) {
      return note(
        `${label} is too large for the model (${size} bytes, at most ${MOST_IMAGE_BYTES}). It is at ${path}.`,
      );
    }
    const bytes = await readFile(path);
    const mediaType = imageType(bytes);
    if (mediaType === undefined) return note(`${label} is not a PNG, JPEG, GIF or WebP image. It is at ${path}.`);
    return { type: 'image', mediaType, hash: await store.put(bytes) };
  } catch {
    return note(`${label} could not be read from ${path}.`);
  }
}

function note(text: string): Part {
  return { type: 'text', text: `[${text}]` };
}
