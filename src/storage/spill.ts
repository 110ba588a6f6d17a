import { join } from 'node:path';
import { plainDisk, type Disk } from './disk.ts';
import { fileName, sessionFolder } from './session-folder.ts';

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
