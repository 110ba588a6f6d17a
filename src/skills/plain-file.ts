import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { pin } from '../security/paths/descriptors.ts';
import { AppError } from '../util/errors.ts';

export interface PlainFile {
  /** The first of its bytes, as many as were asked for. */
  readonly bytes: Buffer;
  /** Bytes of all of it. */
  readonly size: number;
  /** Its owner may run it as a program. */
  readonly executable: boolean;
}

/**
 * Reads a regular file that lies where its path says: `path` is a real path, and a link in any part of it, also one
 * that was put there a moment ago, is refused, as are devices and pipes. Throws an `AppError` or what `open` throws.
 */
export async function readPlainFile(path: string, most: number): Promise<PlainFile> {
  await using pinned = await pin(path, { noFollow: true });
  if (pinned.path !== path || pinned.stat.isSymbolicLink()) {
    throw new AppError('skill-link', `${path} is reached by a link, so it is not read.`);
  }
  if (!pinned.stat.isFile()) throw new AppError('skill-no-file', `${path} is not a regular file, so it is not read.`);
  const handle = await open(pinned.self, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const { size, mode } = await handle.stat();
    const buffer = Buffer.alloc(Math.min(size, most));
    let filled = 0;
    while (filled < buffer.length) {
      const { bytesRead } = await handle.read(buffer, filled, buffer.length - filled, filled);
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    return { bytes: buffer.subarray(0, filled), size, executable: (mode & 0o100) !== 0 };
  } finally {
    await handle.close();
  }
}

/** Text as UTF-8, or as UTF-16 where a byte order mark says so; a character that was cut at the end is left out. */
export function decodePlain(bytes: Uint8Array): string {
  const [first, second] = bytes;
  const encoding = first === 0xff && second === 0xfe ? 'utf-16le' : first === 0xfe && second === 0xff ? 'utf-16be' : '';
  return new TextDecoder(encoding === '' ? 'utf-8' : encoding, { ignoreBOM: true }).decode(bytes, { stream: true });
}
