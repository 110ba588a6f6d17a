/** How a text file was encoded, so that it can be written back the same way. */
export interface TextFormat {
  readonly encoding: 'utf-8' | 'utf-16le' | 'utf-16be' | 'latin-1';
  readonly bom: boolean;
}

export type Decoded = { readonly text: string; readonly format: TextFormat } | { readonly binary: true };

const SNIFF_BYTES = 8_192;

/** Guesses the encoding: by byte-order mark, else UTF-8 where it is valid, else Latin-1. NUL bytes mean binary. */
export function decodeText(bytes: Uint8Array): Decoded {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (startsWith(buffer, 0xff, 0xfe) && buffer.length % 2 === 0) {
    return { text: buffer.toString('utf16le', 2), format: { encoding: 'utf-16le', bom: true } };
  }
  if (startsWith(buffer, 0xfe, 0xff) && buffer.length % 2 === 0) {
    return { text: swapped(buffer.subarray(2)).toString('utf16le'), format: { encoding: 'utf-16be', bom: true } };
  }
  if (buffer.subarray(0, SNIFF_BYTES).includes(0)) return { binary: true };
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    const bom = text.startsWith('\ufeff');
    return { text: bom ? text.slice(1) : text, format: { encoding: 'utf-8', bom } };
  } catch {
    return { text: buffer.toString('latin1'), format: { encoding: 'latin-1', bom: false } };
  }
}

/** The inverse of `decodeText`. Text that Latin-1 can not hold is written as UTF-8. */
export function encodeText(text: string, { encoding, bom }: TextFormat): Uint8Array {
  switch (encoding) {
    case 'utf-8':
      return Buffer.from(bom ? `\ufeff${text}` : text, 'utf8');
    case 'utf-16le':
      return Buffer.from(`\ufeff${text}`, 'utf16le');
    case 'utf-16be':
      return swapped(Buffer.from(`\ufeff${text}`, 'utf16le'));
    case 'latin-1':
      return /^[\u0000-\u00ff]*$/u.test(text) ? Buffer.from(text, 'latin1') : Buffer.from(text, 'utf8');
  }
}

function startsWith(buffer: Buffer, ...signature: number[]): boolean {
  return signature.every((byte, i) => buffer[i] === byte);
}

function swapped(buffer: Buffer): Buffer {
  return Buffer.from(buffer).swap16();
}
