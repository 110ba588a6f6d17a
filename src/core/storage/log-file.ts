import { appendFileSync, mkdirSync, renameSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** Bytes of one file; the older ones end in `.1` to `.4`. */
const LARGEST = 10_000_000;
const OLDER_FILES = 4;

/** The files of a log, newest first; the older ones need not be there. */
export function logFilePaths(path: string): readonly string[] {
  return [path, ...Array.from({ length: OLDER_FILES }, (_, n) => `${path}.${n + 1}`)];
}

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
    const [oldest = this.#path, ...newer] = logFilePaths(this.#path).toReversed();
    let to = oldest;
    for (const path of newer) {
      if (statSync(path, { throwIfNoEntry: false }) !== undefined) renameSync(path, to);
      to = path;
    }
    this.#size = 0;
  }
}
