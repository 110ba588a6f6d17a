import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { pin } from '../security/paths/pinned.ts';
import { AppError } from '../util/errors.ts';

export interface PlainFile {
  /** The content, or the beginning of it: at most as many bytes as were asked for. */
  readonly bytes: Buffer;
  /** Size of the whole file, in bytes. */
  readonly size: number;
  /** Whether the owner's execute bit is set. */
  readonly executable: boolean;
}

/**
 * Reads at most `most` bytes of a regular file. `path` must be a real path. Throws an `AppError` if any part of it is a link
 * now (`skill-link`) or if it is a folder, device or pipe (`skill-no-file`); otherwise throws what `open` throws.
 */
export async function readPlainFile(path: string, most: number): Promise<PlainFile> {
  using pinned = await pin(path, { noFollow: true });
  if (pinned.path !== path || pinned.stat.isSymbolicLink()) {
    throw new AppError('skill-link', `${path} is behind a link, so it is not read.`);
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

/** Decodes UTF-8, or UTF-16 if there is a byte order mark. Leaves out a character that is incomplete at the end. */
export function decodePlain(bytes: Uint8Array): string {
  const [first, second] = bytes;
  const encoding = first === 0xff && second === 0xfe ? 'utf-16le' : first === 0xfe && second === 0xff ? 'utf-16be' : '';
  return new TextDecoder(encoding === '' ? 'utf-8' : encoding, { ignoreBOM: true }).decode(bytes, { stream: true });
}
