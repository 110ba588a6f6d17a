import { looksBinary } from '../util/file-ending.ts';

/** Bytes of an image that the model APIs take at most, before base64. */
export const MOST_IMAGE_BYTES = 3_700_000;

/** How a text file was encoded, so that it can be written back the same way. */
export interface TextFormat {
  /** `windows-1252` as browsers read it: Latin-1 with signs where that has none. */
  readonly encoding: 'utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1252';
  readonly bom: boolean;
}

export type Decoded = { readonly text: string; readonly format: TextFormat } | { readonly binary: true };

const WINDOWS = new TextDecoder('windows-1252');

/** Guesses the encoding: by byte-order mark, else UTF-8 where it is valid, else windows-1252. */
export function decodeText(bytes: Uint8Array): Decoded {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const [encoding] = encodingsOf(buffer, buffer.length);
  if (encoding === undefined) return { binary: true };
  if (encoding === 'utf-16le') return { text: buffer.toString('utf16le', 2), format: { encoding, bom: true } };
  if (encoding === 'utf-16be') {
    return { text: swapped(buffer.subarray(2)).toString('utf16le'), format: { encoding, bom: true } };
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    const bom = text.startsWith('\ufeff');
    return { text: bom ? text.slice(1) : text, format: { encoding: 'utf-8', bom } };
  } catch {
    return { text: WINDOWS.decode(bytes), format: { encoding: 'windows-1252', bom: false } };
  }
}

/** What a file may be encoded in by how it begins, the likeliest first; none: it is binary. `size`: of the whole file. */
export function encodingsOf(start: Buffer, size: number): readonly TextFormat['encoding'][] {
  if (startsWith(start, 0xff, 0xfe) && size % 2 === 0) return ['utf-16le'];
  if (startsWith(start, 0xfe, 0xff) && size % 2 === 0) return ['utf-16be'];
  return looksBinary(start) ? [] : ['utf-8', 'windows-1252'];
}

/** The inverse of `decodeText`. Text that windows-1252 cannot hold is written as UTF-8. */
export function encodeText(text: string, { encoding, bom }: TextFormat): Uint8Array {
  switch (encoding) {
    case 'utf-8':
      return Buffer.from(bom ? `\ufeff${text}` : text, 'utf8');
    case 'utf-16le':
      return Buffer.from(`\ufeff${text}`, 'utf16le');
    case 'utf-16be':
      return swapped(Buffer.from(`\ufeff${text}`, 'utf16le'));
    case 'windows-1252':
      return windowsBytes(text) ?? Buffer.from(text, 'utf8');
  }
}

let windowsCodes: ReadonlyMap<number, number> | undefined;

/** Undefined when a character has no byte. */
function windowsBytes(text: string): Buffer | undefined {
  windowsCodes ??= new Map(
    Array.from({ length: 256 }, (_, byte) => [WINDOWS.decode(Uint8Array.of(byte)).charCodeAt(0), byte]),
  );
  const bytes = Buffer.allocUnsafe(text.length);
  for (let i = 0; i < text.length; i += 1) {
    const byte = windowsCodes.get(text.charCodeAt(i));
    if (byte === undefined) return undefined;
    bytes[i] = byte;
  }
  return bytes;
}

function startsWith(buffer: Buffer, ...signature: number[]): boolean {
  return signature.every((byte, i) => buffer[i] === byte);
}

function swapped(buffer: Buffer): Buffer {
  return Buffer.from(buffer).swap16();
}

/** The media type of an image that models can read, by its first bytes, never by its name; undefined for all else. */
export function imageType(bytes: Uint8Array): string | undefined {
  const starts = (signature: string, at = 0): boolean =>
    Buffer.from(bytes.subarray(at, at + signature.length)).toString('latin1') === signature;
  if (starts('\x89PNG\r\n\x1a\n')) return 'image/png';
  if (starts('\xff\xd8\xff')) return 'image/jpeg';
  if (starts('GIF87a') || starts('GIF89a')) return 'image/gif';
  return starts('RIFF') && starts('WEBP', 8) ? 'image/webp' : undefined;
}
