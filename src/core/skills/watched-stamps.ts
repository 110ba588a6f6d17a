import { lstatSync, watch, type FSWatcher } from 'node:fs';
import { dirname } from 'node:path';
import { isCurrent, type Stamps } from './walk.ts';

/** With more folders than these the paths are looked at instead. */
const MOST_FOLDERS = 1_000;

/**
 * Watches the folders of stamps, so that not each path has to be looked at again to know that nothing changed. Only on
 * Linux a change is reported before a later message is; elsewhere, and where the system has no watches left, `isCurrent`
 * is never true.
 */
export class WatchedStamps implements Disposable {
  readonly #watch: typeof watch;
  #stamps: Stamps | undefined;
  /** Paths that are looked at all the same: a folder may be replaced with all that lies in it. */
  #top: Stamps = new Map();
  #watchers: readonly FSWatcher[] = [];
  #isBlind = true;
  #changes = 0;
  /** The changes that the last look has seen. */
  #seen = -1;

  /** `watching`: @default the system's */
  constructor(watching = watch) {
    this.#watch = watching;
  }

  /** Whether nothing changed since the last look. */
  get isCurrent(): boolean {
    return !this.#isBlind && this.#changes === this.#seen && isCurrent(this.#top);
  }

  /** Call it before a look at all paths, and what it returns after the look, with the stamps of then. */
  begin(): (stamps: Stamps | undefined) => void {
    const changes = this.#changes;
    return (stamps) => {
      if (stamps === this.#stamps) this.#seen = changes;
      // What changed before the watches began is seen by one more look.
      else this.#follow(stamps);
    };
  }

  [Symbol.dispose](): void {
    for (const watcher of this.#watchers) watcher.close();
    this.#watchers = [];
    this.#isBlind = true;
  }

  #follow(stamps: Stamps = new Map()): void {
    this[Symbol.dispose]();
    this.#stamps = stamps;
    this.#changes += 1;
    this.#top = new Map([...stamps].filter(([path]) => !stamps.has(dirname(path))));
    const folders = [...stamps.keys()].filter(isFolder);
    if (process.platform !== 'linux' || folders.length > MOST_FOLDERS) return;
    this.#isBlind = false;
    const watchers: FSWatcher[] = [];
    this.#watchers = watchers;
    try {
      for (const folder of folders) {
        const watcher = this.#watch(folder, { persistent: false }, () => (this.#changes += 1));
        watcher.on('error', () => (this.#isBlind = true));
        watchers.push(watcher);
      }
    } catch {
      this[Symbol.dispose]();
    }
  }
}

function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
