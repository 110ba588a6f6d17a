import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { MemoryStore, type MemoryStoreOptions } from '../../src/core/memory/files/store.ts';
import type { Logger } from '../../src/core/util/log.ts';
import { recordingLog, type LogLine } from '../support/recording-log.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

/** A memory in a fresh home. */
export class MemoryWorld implements AsyncDisposable {
  clock = new VirtualClock(Date.UTC(2026, 10, 21, 5, 10));
  readonly memory: string;
  readonly history: string;
  /** Where the versions of MEMORY.md lie. */
  readonly versions: string;
  store: MemoryStore;
  readonly logged: LogLine[] = [];
  readonly #home: string;
  readonly #log: Logger;

  constructor(home: string, disk?: MemoryStoreOptions['disk']) {
    this.#home = home;
    this.#log = recordingLog(this.logged);
    this.memory = join(home, 'workspace', 'memory', 'MEMORY.md');
    this.history = join(home, 'workspace', 'memory', 'HISTORY.md');
    this.versions = join(home, 'versions', 'memory');
    this.store = this.open(disk);
  }

  /** Another store over the same files, as after a restart. */
  open(disk?: MemoryStoreOptions['disk']): MemoryStore {
    return new MemoryStore({
      workspace: join(this.#home, 'workspace'),
      versions: join(this.#home, 'versions'),
      clock: this.clock,
      log: this.#log,
      timezone: 'Europe/Berlin',
      ...(disk === undefined ? {} : { disk }),
    });
  }

  /** Writes MEMORY.md as a person with an editor does. */
  async edit(text: string | Uint8Array, path = this.memory): Promise<void> {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }

  /** Replaces whatever is there. */
  async put(text: string, reason = 'test'): Promise<void> {
    const { hash } = await this.store.read();
    const result = await this.store.replace(text, { ifHash: hash, reason, allowShrink: true });
    if (!result.ok) throw new Error(result.why);
  }

  text(path = this.memory): Promise<string> {
    return readFile(path, 'utf8');
  }

  async versionFiles(): Promise<readonly string[]> {
    return await readdir(this.versions).catch(() => []);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return rm(this.#home, { recursive: true, force: true, maxRetries: 5 });
  }
}

export async function memoryWorld(disk?: MemoryStoreOptions['disk']): Promise<MemoryWorld> {
  return new MemoryWorld(await mkdtemp(join(tmpdir(), 'memory-')), disk);
}

/** The error of a system call. */
export function diskError(code: string): Error {
  return Object.assign(new Error(`${code}: the disk said no`), { code });
}
