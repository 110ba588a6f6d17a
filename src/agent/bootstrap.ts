import { statSync } from 'node:fs';
import { arch, release, type } from 'node:os';
import { join } from 'node:path';
import { readIfExists } from '../storage/files.ts';
import { BOOTSTRAP_FILES, buildSystemPrompt, type BootstrapFile } from './prompt.ts';

/** Renders the system prompt of a workspace. */
export class SystemPrompt {
  readonly #workspace: string;
  #stamp: string | undefined;
  #layers: Promise<readonly string[]> | undefined;

  constructor(workspace: string) {
    this.#workspace = workspace;
  }

  /** As the files are now; they are read again when one of them changed. A missing file is left out. */
  read(): Promise<readonly string[]> {
    const stamp = BOOTSTRAP_FILES.map((name) => stampOf(join(this.#workspace, name))).join(' ');
    if (this.#layers === undefined || stamp !== this.#stamp) {
      this.#stamp = stamp;
      this.#layers = this.#render();
      this.#layers.catch(() => (this.#layers = undefined));
    }
    return this.#layers;
  }

  async #render(): Promise<readonly string[]> {
    const files: BootstrapFile[] = await Promise.all(
      BOOTSTRAP_FILES.map(async (name) => ({
        name,
        text: (await readIfExists(join(this.#workspace, name))) ?? '',
      })),
    );
    const os = `${type()} ${release()} (${arch()})`;
    return buildSystemPrompt({ os, runtime: `Node ${process.versions.node}`, workspace: this.#workspace }, files);
  }
}

function stampOf(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat === undefined ? '-' : `${stat.ino}:${stat.size}:${stat.mtimeMs}:${stat.ctimeMs}`;
}
