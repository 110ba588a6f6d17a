import type { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fetchFailed } from './contract.ts';

export interface Body {
  readonly bytes: Uint8Array;
  /** Whether there was more than `maxBytes`. */
  readonly truncated: boolean;
}

export const ACCEPT_ENCODING = 'gzip, deflate, br, zstd';

/** Bytes by which compressed data may exceed the limit of the unpacked body. */
const PACKED_SLACK = 1_048_576;

/**
 * Reads a body up to `maxBytes` of unpacked data, and holds little more than that in memory. One encoding is unpacked;
 * several, or an unknown one, is a `bad-answer`. `host` is named in errors.
 */
export async function readBody(
  source: Readable,
  options: {
    readonly encoding: string | undefined;
    readonly maxBytes: number;
    readonly host: string;
    /** Called with the number of bytes of each chunk that was received. */
    readonly onBytes: (count: number) => void;
  },
): Promise<Body> {
  const { maxBytes, host } = options;
  const unpack = await unpacker(options.encoding, host);
  const parts: Uint8Array[] = [];
  let size = 0;
  let truncated = false;
  let packed = 0;

  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const chunk of source as AsyncIterable<Uint8Array>) {
      packed += chunk.length;
      options.onBytes(chunk.length);
      if (packed > maxBytes + PACKED_SLACK && unpack !== undefined) {
        throw fetchFailed('too-large', `The answer of ${host} has too much compressed data.`);
      }
      yield chunk;
    }
  }
  async function collect(chunks: AsyncIterable<Uint8Array>): Promise<void> {
    for await (const chunk of chunks) {
      const space = maxBytes - size;
      if (chunk.length > space) {
        truncated = true;
        parts.push(chunk.subarray(0, space));
        size += space;
        return;
      }
      parts.push(chunk);
      size += chunk.length;
    }
  }

  if (unpack === undefined) await collect(counted());
  else {
    try {
      await unpack(counted(), collect);
    } catch (error) {
      // Stopping early makes the unpacking stream fail, which is no error here.
      if (!truncated) throw error;
    }
  }
  return { bytes: Buffer.concat(parts, size), truncated };
}

type Unpack = (
  source: AsyncGenerator<Uint8Array>,
  collect: (chunks: AsyncIterable<Uint8Array>) => Promise<void>,
) => Promise<void>;

async function unpacker(encoding: string | undefined, host: string): Promise<Unpack | undefined> {
  const name = (encoding ?? '').trim().toLowerCase();
  if (name === '' || name === 'identity') return undefined;
  const zlib = await import('node:zlib');
  // A stream that its server cut off still gives what was received, as in browsers.
  const lenient = { finishFlush: zlib.constants.Z_SYNC_FLUSH };
  const through =
    (make: (first: Uint8Array) => Transform): Unpack =>
    async (source, collect) => {
      const first = await source.next();
      if (first.done === true) return;
      await pipeline(prepended(first.value, source), make(first.value), collect);
    };
  switch (name) {
    case 'gzip':
    case 'x-gzip':
      return through(() => zlib.createGunzip(lenient));
    case 'deflate': // It means the zlib format; some servers send raw deflate.
      return through((first) =>
        ((first[0] ?? 0) & 0x0f) === 8 ? zlib.createInflate(lenient) : zlib.createInflateRaw(lenient),
      );
    case 'br':
      return through(() => zlib.createBrotliDecompress({ finishFlush: zlib.constants.BROTLI_OPERATION_FLUSH }));
    case 'zstd': // RFC 9659: a window of 8 MiB at most.
      return through(() => zlib.createZstdDecompress({ params: { [zlib.constants.ZSTD_d_windowLogMax]: 23 } }));
    default:
      throw fetchFailed('bad-answer', `The answer of ${host} has a compression that is not supported.`);
  }
}

async function* prepended(first: Uint8Array, rest: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield first;
  yield* rest;
}
