import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock, type Clock } from '../util/clock.ts';
import { ensureDirectory, replaceDurable } from './files.ts';
import { sessionFolder } from './session-folder.ts';

/** Images kept in memory for the next fold. */
const CACHED = 16;

/** Bytes by content hash, each stored once: a transcript that names a hash always means the same bytes. */
export class MediaStore {
  readonly #folder: string;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #cache = new Map<string, string>();

  /** `clock`: a picture that is kept again is as young as its newest use. @default the machine's */
  constructor(folder: string, clock: Pick<Clock, 'now'> = systemClock) {
    this.#folder = folder;
    this.#clock = clock;
  }

  /**
   * Where the attachments of one session lie, by their names, for its tools to read; the folder need not exist. What
   * lies beside these folders by its hash belongs to all transcripts, and is open to no tool.
   */
  folder(sessionKey: string): string {
    return sessionFolder(this.#folder, sessionKey);
  }

  /** Stores durably; returns the SHA-256 in hex. */
  async put(bytes: Uint8Array): Promise<string> {
    const hash = createHash('sha256').update(bytes).digest('hex');
    const path = join(this.#folder, hash);
    const now = new Date(this.#clock.now());
    const exists = await utimes(path, now, now).then(
      () => true,
      () => false,
    );
    if (!exists) {
      await ensureDirectory(this.#folder);
      await replaceDurable(path, bytes);
    }
    return hash;
  }

  /** Stores durably; returns the absolute path. */
  async keep(bytes: Uint8Array): Promise<string> {
    return join(this.#folder, await this.put(bytes));
  }

  /** As base64; undefined when it is gone. Synchronous, because folding a tape is. */
  base64(hash: string): string | undefined {
    const cached = this.#cache.get(hash);
    if (cached !== undefined) return cached;
    if (!/^[0-9a-f]{64}$/u.test(hash)) return undefined;
    try {
      const data = readFileSync(join(this.#folder, hash)).toString('base64');
      this.#cache.set(hash, data);
      const oldest = this.#cache.size > CACHED ? this.#cache.keys().next().value : undefined;
      if (oldest !== undefined) this.#cache.delete(oldest);
      return data;
    } catch {
      return undefined;
    }
  }
}
