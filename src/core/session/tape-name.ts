import { createHash } from 'node:crypto';

const EXTENSION = '.jsonl';
const LONGEST = 150;

/**
 * The file name of a session's tape. Lower-case letters, digits, `_`, `-` and inner dots stay, every other byte
 * becomes `%xx`, capitals too, so that names never collide where file systems ignore case. A name over 150
 * characters is cut and ends in `=` and a hash of the key; the tape's first line then has the key.
 */
export function tapeName(key: string): string {
  const encoded = Array.from(Buffer.from(key, 'utf8'), encodeByte).join('');
  if (encoded.length <= LONGEST && key.isWellFormed() && key !== '') return encoded + EXTENSION;
  const hash = createHash('sha256').update(Buffer.from(key, 'utf16le')).digest('hex').slice(0, 40);
  const start = encoded.slice(0, LONGEST - hash.length - 1).replace(/%.?$/u, '');
  return `${start}=${hash}${EXTENSION}`;
}

/** The key behind a file name; null when only the tape's first line has it; undefined when it is no tape's name. */
export function keyOfTapeName(name: string): string | null | undefined {
  if (!name.endsWith(EXTENSION)) return undefined;
  const encoded = name.slice(0, -EXTENSION.length);
  if (/^[a-z0-9%._-]*=[0-9a-f]{40}$/u.test(encoded)) return null;
  try {
    const key = decodeURIComponent(encoded);
    return tapeName(key) === name ? key : undefined;
  } catch {
    return undefined;
  }
}

function encodeByte(byte: number, index: number): string {
  const char = String.fromCodePoint(byte);
  const plain = /[a-z0-9_-]/u.test(char) || (char === '.' && index > 0);
  return plain ? char : `%${byte.toString(16).padStart(2, '0')}`;
}
