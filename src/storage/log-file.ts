import { appendFileSync, mkdirSync, renameSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** Bytes of one file; the older ones end in `.1` to `.4`. */
const LARGEST = 10_000_000;
const OLDER_FILES = 4;

/**
 * A log in a file, mode 0600, that makes room for itself. Each line is with the system when `write` returns, so what a
 * process says last is there. What the disk does not take is lost, and nothing else.
 */
export class LogFile {
  readonly #path: string;
  readonly #largest: number;
  /** Bytes; undefined until it is looked at. */
  #size: number | undefined;

  constructor(path: string, { largest = LARGEST }: { readonly largest?: number } = {}) {
    this.#path = path;
    this.#largest = largest;
  }

  /** Never throws. */
  write(line: string): void {
    try {
      this.#size ??= this.#open();
      if (this.#size > 0 && this.#size + line.length > this.#largest) this.#makeRoom();
      appendFileSync(this.#path, line, { mode: 0o600 });
      this.#size = (this.#size ?? 0) + Buffer.byteLength(line);
    } catch {
      // Whether the disk takes writes is watched elsewhere; the next line tries again.
      this.#size = undefined;
    }
  }

  #open(): number {
    mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
    return statSync(this.#path, { throwIfNoEntry: false })?.size ?? 0;
  }

  #makeRoom(): void {
    for (let n = OLDER_FILES - 1; n >= 0; n -= 1) {
      const path = n === 0 ? this.#path : `${this.#path}.${n}`;
      if (statSync(path, { throwIfNoEntry: false }) !== undefined) renameSync(path, `${this.#path}.${n + 1}`);
    }
    this.#size = 0;
  }
}
