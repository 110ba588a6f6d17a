import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { ensureDirectory, replaceDurable } from './files.ts';

/** Longest readable part of a folder's name. */
const LONGEST = 60;

/** Results that are too long for the model, each a file of its session that can be read in pages. */
export class SpillStore {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  /** Where a session's results lie; the folder need not exist. No two sessions share one. */
  folder(sessionKey: string): string {
    const hash = createHash('sha256').update(Buffer.from(sessionKey, 'utf16le')).digest('hex').slice(0, 16);
    return join(this.#root, `${fileName(sessionKey)}-${hash}`);
  }

  /** Keeps a text durably, mode 0600; returns its absolute path. The same call id replaces what it kept before. */
  async put(sessionKey: string, callId: string, text: string): Promise<string> {
    const folder = this.folder(sessionKey);
    await ensureDirectory(folder);
    const path = join(folder, `${fileName(callId)}.txt`);
    await replaceDurable(path, text);
    return path;
  }
}

function fileName(text: string): string {
  return (
    text
      .toLowerCase()
      .replaceAll(/[^a-z0-9._-]/gu, '_')
      .replace(/^\.+/u, '_')
      .slice(0, LONGEST) || '_'
  );
}
