import { fileURLToPath } from 'node:url';
import { RequestError, type ContentBlock } from '@agentclientprotocol/sdk';

/** A prompt as the assistant takes it. */
export interface PromptContent {
  readonly text: string;
  /** Texts of files that came with it. */
  readonly files: readonly { readonly name: string; readonly text: string }[];
  readonly images: readonly { readonly mediaType: string; readonly bytes: Buffer }[];
}

/** Characters of a prompt with its files. */
const MOST_CHARACTERS = 1_000_000;
const IMAGE = /^image\/(?:png|jpeg|gif|webp)$/u;

/**
 * Reads the blocks of a prompt. What the editor puts in as a file is named in the text and stands behind it. Throws
 * invalid params for what the assistant does not take.
 */
export function promptContent(blocks: readonly ContentBlock[]): PromptContent {
  const texts: string[] = [];
  const files: { readonly name: string; readonly text: string }[] = [];
  const images: { readonly mediaType: string; readonly bytes: Buffer }[] = [];
  const image = (data: string, mediaType: string): void => {
    if (!IMAGE.test(mediaType)) throw refused(`Images have to be PNG, JPEG, GIF or WebP, not ${mediaType}.`);
    images.push({ mediaType, bytes: Buffer.from(data, 'base64') });
  };
  for (const block of blocks) {
    switch (block.type) {
      case 'text':
        texts.push(block.text);
        break;
      case 'image':
        image(block.data, block.mimeType);
        break;
      case 'audio':
        throw refused('The assistant takes no audio from an editor.');
      case 'resource_link':
        texts.push(mention(block.name, block.uri));
        break;
      case 'resource': {
        const { resource } = block;
        const place = placeOf(resource.uri);
        const name = place.split('/').at(-1) ?? place;
        if ('text' in resource) {
          texts.push(mention(name, resource.uri));
          files.push({ name: place, text: resource.text });
        } else if (IMAGE.test(resource.mimeType ?? '')) {
          image(resource.blob, resource.mimeType ?? '');
        } else {
          texts.push(`${mention(name, resource.uri)} (its content is no text and was left out)`);
        }
        break;
      }
    }
  }
  const text = texts.join('');
  const size = files.reduce((sum, file) => sum + file.text.length, text.length);
  if (size > MOST_CHARACTERS) throw refused(`A prompt may have at most ${MOST_CHARACTERS} characters with its files.`);
  if (text.trim() === '' && images.length === 0) throw refused('The prompt is empty.');
  return { text, files, images };
}

function mention(name: string, uri: string): string {
  return `[@${name}](${placeOf(uri)})`;
}

/** The path of a file, or the address as it is. */
function placeOf(uri: string): string {
  try {
    return uri.startsWith('file:') ? fileURLToPath(uri.replace(/[?#].*$/u, '')) : uri;
  } catch {
    return uri;
  }
}

/** Invalid params, with a sentence. */
export function refused(sentence: string): RequestError {
  return RequestError.invalidParams(undefined, sentence);
}
