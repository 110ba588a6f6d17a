import { readFile, stat } from 'node:fs/promises';
import type { Media } from '../bus/messages.ts';
import type { MediaStore } from '../storage/media.ts';

/** What the model APIs take at most, before base64. */
const MOST_BYTES = 3_700_000;

type Part =
  | { readonly type: 'image'; readonly mediaType: string; readonly hash: string }
  | { readonly type: 'text'; readonly text: string };

/** The images of a message as parts of the user message: stored by hash, or a sentence that says why not. */
export async function imageParts(media: readonly Media[], store: MediaStore): Promise<readonly Part[]> {
  return Promise.all(media.filter(({ kind }) => kind === 'image').map((item) => imagePart(item, store)));
}

async function imagePart({ path, name }: Media, store: MediaStore): Promise<Part> {
  const label = name ?? 'image';
  try {
    const { size } = await stat(path);
    if (size > MOST_BYTES) {
      return note(`${label} is too large for the model (${size} bytes, at most ${MOST_BYTES}). It is at ${path}.`);
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

/** By its first bytes, never by its name. */
function imageType(bytes: Uint8Array): string | undefined {
  const starts = (signature: string, at = 0): boolean =>
    Buffer.from(bytes.subarray(at, at + signature.length)).toString('latin1') === signature;
  if (starts('\x89PNG\r\n\x1a\n')) return 'image/png';
  if (starts('\xff\xd8\xff')) return 'image/jpeg';
  if (starts('GIF87a') || starts('GIF89a')) return 'image/gif';
  return starts('RIFF') && starts('WEBP', 8) ? 'image/webp' : undefined;
}
