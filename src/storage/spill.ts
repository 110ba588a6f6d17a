import { join } from 'node:path';
import { ensureDirectory, replaceDurable } from './files.ts';
import { fileName, sessionFolder } from './session-folder.ts';

/** Results that are too long for the model, each a file of its session that can be read in pages. */
export class SpillStore {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  /** Where a session's results lie; the folder need not exist. No two sessions share one. */
  folder(sessionKey: string): string {
    return sessionFolder(this.#root, sessionKey);
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
