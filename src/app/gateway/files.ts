import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import type { Media } from '../../core/bus/messages.ts';
import type { App } from '../../core/app.ts';
import type { ChatFiles } from '../../core/gateway/http/files.ts';
import { ifThere } from '../../core/storage/files.ts';
import { imageType } from '../../core/files/text.ts';

/** The files that the page sends and shows. The name of an upload is that of its file, then the media type that the page gave it. */
export function filesOf({ journal, media, uploads }: App): ChatFiles {
  return {
    keep: async (bytes, mediaType) => `${await uploads.put(bytes)}:${mediaType}`,
    use: async (upload, name) => {
      const [source = '', mediaType = ''] = upload.split(':');
      const size = await uploads.use(source);
      if (size === undefined) return undefined;
      const kind = kindOf(mediaType);
      const speech = kind === 'audio' ? { speech: true } : {};
      return { kind, mediaType, path: '', source, size, ...speech, ...(name === undefined ? {} : { name }) };
    },
    image: async (hash) => {
      const data = await media.image(hash)?.read();
      if (data === undefined) return undefined;
      const bytes = Buffer.from(data, 'base64');
      const type = imageType(bytes);
      return type === undefined ? undefined : { bytes, type };
    },
    sent: async (message, n) => {
      const file = journal.feed.sent(message)?.media[n];
      const bytes = file === undefined ? undefined : await ifThere(readFile(file.path));
      if (file === undefined || bytes === undefined) return undefined;
      return { bytes, name: file.name ?? basename(file.path), mediaType: file.mediaType };
    },
  };
}

/** The bytes of a file that the page sent; undefined: there is none, or it is not kept any more. */
export async function uploaded({ uploads }: App, upload: string): Promise<Uint8Array | undefined> {
  return await uploads.read(upload.split(':')[0] ?? '');
}

function kindOf(mediaType: string): Media['kind'] {
  const [kind] = mediaType.split('/');
  return kind === 'image' || kind === 'audio' || kind === 'video' ? kind : 'document';
}
