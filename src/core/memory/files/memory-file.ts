import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, open, realpath } from 'node:fs/promises';
import { AppError, errorCode, errorMessage } from '../../util/errors.ts';

export interface MemoryText {
  /** Without byte-order mark, lines ended by `\n`. */
  readonly text: string;
  /** SHA-256 of the bytes in hex; of a missing file, that of no bytes. */
  readonly hash: string;
}

/** Nothing that a model should read whole is longer. Bytes. */
export const LARGEST_MEMORY = 1_048_576;

/**
 * Reads a text file that a person may have changed; a missing one is empty. Throws `memory-unreadable`, one sentence
 * that names the file, for anything but a readable UTF-8 text of at most 1 MiB.
 */
export async function readMemoryFile(path: string): Promise<MemoryText> {
  const bytes = await readBytes(path);
  return { text: decode(path, bytes), hash: hashOfBytes(bytes) };
}

export function hashOfBytes(bytes: string | Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Where a file really lies, so that a link to it stays one; the path itself when there is no such file. */
export async function realFile(path: string): Promise<string> {
  return await realpath(path).catch(() => path);
}

/** The error for a file that cannot be used; `what` continues the sentence after the path of the file. */
export function unreadable(path: string, what: string, cause?: unknown): AppError {
  return new AppError(
    'memory-unreadable',
    `The file ${path} ${what}, so it is left as it is. Repair it, or move it away.`,
    { facts: { path }, ...(cause === undefined ? {} : { cause }) },
  );
}

/** Throws for anything but an ordinary file; a missing one is undefined. */
export async function openOrdinary(path: string): Promise<Awaited<ReturnType<typeof open>> | undefined> {
  let handle;
  try {
    // A pipe in its place must not be waited for.
    handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    if (errorCode(error) === 'ENOENT' && (await isMissing(path))) return undefined;
    throw unreadable(path, problemOf(error), error);
  }
  try {
    const stat = await handle.stat();
    if (stat.isFile()) return handle;
    throw unreadable(path, stat.isDirectory() ? 'is a folder instead of a text file' : 'is not an ordinary file');
  } catch (error) {
    await handle.close();
    throw error;
  }
}

async function readBytes(path: string): Promise<Buffer> {
  const handle = await openOrdinary(path);
  if (handle === undefined) return Buffer.alloc(0);
  try {
    const { size } = await handle.stat();
    if (size > LARGEST_MEMORY) throw unreadable(path, `has ${size} bytes, more than 1 MiB`);
    return await handle.readFile();
  } catch (error) {
    throw error instanceof AppError ? error : unreadable(path, problemOf(error), error);
  } finally {
    await handle.close();
  }
}

function decode(path: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes).replaceAll('\r\n', '\n');
  } catch (error) {
    throw unreadable(path, 'holds bytes that are not UTF-8 text', error);
  }
}

async function isMissing(path: string): Promise<boolean> {
  return await lstat(path).then(
    () => false,
    (error: unknown) => errorCode(error) === 'ENOENT',
  );
}

function problemOf(error: unknown): string {
  switch (errorCode(error)) {
    case 'EACCES':
    case 'EPERM':
      return 'may not be read by this user';
    case 'EISDIR':
      return 'is a folder instead of a text file';
    case 'ENOTDIR':
      return 'cannot be there, because a file stands where its folder should be';
    case 'ENOENT':
    case 'ELOOP':
      return 'is a broken link';
    default:
      return `cannot be read (${errorMessage(error)})`;
  }
}
