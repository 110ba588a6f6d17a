import { join } from 'node:path';
import { plainDisk, type Disk } from './disk.ts';
import { createHash } from 'node:crypto';

/** Longest readable part of a name. */
const LONGEST = 60;

/** Results that are too long for the model, each a file of its session that can be read in pages. */
export class SpillStore {
  readonly #root: string;
  readonly #disk: Disk;

  /** `disk`: @default the real one, and nobody is told what it refuses */
  constructor(root: string, disk: Disk = plainDisk) {
    this.#root = root;
    this.#disk = disk;
  }

  /** Where a session's results lie; the folder need not exist. No two sessions share one. */
  folder(sessionKey: string): string {
    return sessionFolder(this.#root, sessionKey);
  }

  /** Keeps a text durably, mode 0600; returns its absolute path. The same call id replaces what it kept before. */
  async put(sessionKey: string, callId: string, text: string): Promise<string> {
    const folder = this.folder(sessionKey);
    await this.#disk.ensure(folder);
    const path = join(folder, `${fileName(callId)}.txt`);
    await this.#disk.replace(path, text);
    return path;
  }
}

/** Where in `root` the files of one session lie; the folder need not exist. No two sessions share one. */
export function sessionFolder(root: string, sessionKey: string): string {
  const hash = createHash('sha256').update(Buffer.from(sessionKey, 'utf16le')).digest('hex').slice(0, 16);
  return join(root, `${fileName(sessionKey)}-${hash}`);
}

/** A text as a plain name, not always a different one for a different text. */
function fileName(text: string): string {
  return (
    text
      .toLowerCase()
      .replaceAll(/[^a-z0-9._-]/gu, '_')
      .replace(/^\.+/u, '_')
      .slice(0, LONGEST) || '_'
  );
}
