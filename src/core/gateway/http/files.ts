import type { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import type { Media } from '../../bus/messages.ts';
import { AppError } from '../../util/errors.ts';
import { failure, type HttpContext, type HttpEnv } from './answer.ts';
import type { UploadReply } from './wire.ts';

const LARGEST_UPLOAD = 20 * 1024 * 1024;
const LONGEST_NAME = 200;
/** What is shown of a file runs nothing, should a browser ever take it for a page. */
const HARMLESS = "default-src 'none'; sandbox";

/** The types of sounds that the page plays. */
const SOUNDS: ReadonlySet<string> = new Set(['audio/ogg', 'audio/mpeg', 'audio/aac', 'audio/flac', 'audio/wav']);

export interface ChatFiles {
  /** An uploaded file for a message. Undefined: it is not kept any more. */
  readonly use: (upload: string, name: string | undefined) => Promise<Media | undefined>;
  /** Stores a file until a message uses it; returns the name by which it does. */
  readonly keep: (bytes: Uint8Array, mediaType: string) => Promise<string>;
  /** An image of a conversation by its hash, with the type that its bytes have; undefined: there is none. */
  readonly image: (hash: string) => Promise<{ readonly bytes: Uint8Array; readonly type: string } | undefined>;
  /** The nth file of a sent message; undefined: there is none. */
  readonly sent: (
    message: string,
    n: number,
  ) => Promise<{ readonly bytes: Uint8Array; readonly name: string; readonly mediaType: string } | undefined>;
}

/** Files to and from the page. Only images are shown and sounds are played in place; everything else is for saving. */
export function serveFiles(app: Hono<HttpEnv>, { keep, image, sent }: ChatFiles): void {
  const onError = (context: HttpContext): Response =>
    failure(context, 413, 'upload-too-large', 'A file has at most 20 MB.');
  app.post('/api/uploads', bodyLimit({ maxSize: LARGEST_UPLOAD, onError }), async (context) => {
    const name = (context.req.query('name') ?? '').slice(0, LONGEST_NAME) || 'file';
    const mediaType = mediaTypeOf(context.req.header('content-type'));
    const bytes = new Uint8Array(await context.req.arrayBuffer());
    if (bytes.byteLength === 0) throw new AppError('input-invalid', 'The file is empty.');
    const reply: UploadReply = { upload: await keep(bytes, mediaType), name, mediaType, size: bytes.byteLength };
    return context.json(reply, 201);
  });
  app.get('/api/media/:hash', async (context) => {
    const found = await image(context.req.param('hash'));
    if (found === undefined) return failure(context, 404, 'image-unknown', 'This image is not kept any more.');
    // Its name is its hash, so it never changes.
    return context.body(Buffer.from(found.bytes), 200, {
      'Content-Type': found.type,
      'Content-Disposition': 'inline',
      'Content-Security-Policy': HARMLESS,
      'Cache-Control': 'private, max-age=31536000, immutable',
    });
  });
  app.get('/api/outbound/:id/media/:n', async (context) => {
    const { id, n } = context.req.param();
    const found = /^\d{1,3}$/u.test(n) ? await sent(id, Number(n)) : undefined;
    if (found === undefined) return failure(context, 404, 'file-unknown', 'This file is not there any more.');
    const headers = {
      'Content-Type': SOUNDS.has(found.mediaType) ? found.mediaType : 'application/octet-stream',
      'Content-Disposition': `attachment; filename*=UTF-8''${encoded(found.name)}`,
      'Content-Security-Policy': HARMLESS,
      'Accept-Ranges': 'bytes',
    };
    const size = found.bytes.byteLength;
    const range = rangeOf(context.req.header('range'), size);
    if (range === undefined) return context.body(Buffer.from(found.bytes), 200, headers);
    const part = Buffer.from(found.bytes.subarray(range.first, range.last + 1));
    return context.body(part, 206, { ...headers, 'Content-Range': `bytes ${range.first}-${range.last}/${size}` });
  });
}

/** The one range that a player asks for; undefined: all of it. */
function rangeOf(header = '', size: number): { readonly first: number; readonly last: number } | undefined {
  const { from, to } = /^bytes=(?<from>\d{1,15})-(?<to>\d{0,15})$/u.exec(header)?.groups ?? {};
  const first = Number(from);
  const last = to === undefined || to === '' ? size - 1 : Math.min(Number(to), size - 1);
  return from === undefined || first > last ? undefined : { first, last };
}

function mediaTypeOf(header = ''): string {
  const plain = header.split(';')[0]?.trim().toLowerCase() ?? '';
  return /^[a-z]+\/[\w.+-]{1,100}$/u.test(plain) ? plain : 'application/octet-stream';
}

/** As RFC 8187 wants it. A name that is no well-formed text becomes one. */
function encoded(name: string): string {
  return encodeURIComponent(name.toWellFormed()).replaceAll(
    /['()*]/gu,
    (sign) => `%${sign.charCodeAt(0).toString(16)}`,
  );
}
