import { join } from 'node:path';
import { plainDisk, type Disk } from './disk.ts';
import { createHash } from 'node:crypto';
import { fileEnding } from '../util/file-ending.ts';

/** Longest readable part of a file name, characters. */
const LONGEST_NAME = 60;

/** Files of tool results, and results that are too long for the model, where the session can read them. */
export class SpillStore {
  readonly #root: string;
  readonly #disk: Disk;

  /** `disk`: @default the real disk, without reporting its failures */
  constructor(root: string, disk: Disk = plainDisk) {
    this.#root = root;
    this.#disk = disk;
  }

  /** The folder of a session's results; it need not exist. No two sessions share one. */
  folder(sessionKey: string): string {
    return sessionFolder(this.#root, sessionKey);
  }

  /** Stores a text durably (mode 0600); returns its absolute path. The same call id replaces its earlier text. */
  async put(sessionKey: string, callId: string, text: string): Promise<string> {
    const folder = this.folder(sessionKey);
    await this.#disk.ensure(folder);
    const path = join(folder, `${fileName(callId)}.txt`);
    await this.#disk.replace(path, text);
    return path;
  }

  /** Stores a file of a result durably (mode 0600); returns its absolute path. The same bytes are stored once. */
  async keep(sessionKey: string, bytes: Uint8Array, mediaType: string): Promise<string> {
    const folder = this.folder(sessionKey);
    await this.#disk.ensure(folder);
    const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 32);
    const path = join(folder, `${hash}.${fileEnding(mediaType, bytes)}`);
    await this.#disk.replace(path, bytes);
    return path;
  }
}

/** The folder below `root` for the files of one session; it need not exist. No two sessions share one. */
export function sessionFolder(root: string, sessionKey: string): string {
  const hash = createHash('sha256').update(Buffer.from(sessionKey, 'utf16le')).digest('hex').slice(0, 16);
  return join(root, `${fileName(sessionKey)}-${hash}`);
}

/** Turns a text into a safe file name; different texts may give the same name. */
function fileName(text: string): string {
  return (
    text
      .toLowerCase()
      .replaceAll(/[^a-z0-9._-]/gu, '_')
      .replace(/^\.+/u, '_')
      .slice(0, LONGEST_NAME) || '_'
  );
}
