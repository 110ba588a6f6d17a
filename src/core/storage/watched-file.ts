import { statSync, watch, type FSWatcher } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { Clock } from '../util/clock.ts';

/** Editors write a file in several steps: wait this many ms after the last one. */
const SETTLE_MS = 150;

/**
 * Calls `changed` soon after a file was created, changed or removed. If the system cannot watch its folder, `changed`
 * is never called; compare `fileStampOf` then.
 */
export function watchFile(path: string, clock: Clock, changed: () => void): Disposable {
  let waiting: Disposable | undefined;
  let watcher: FSWatcher | undefined;
  const stop = (): void => {
    watcher?.close();
    waiting?.[Symbol.dispose]();
  };
  try {
    watcher = watch(dirname(path), { persistent: false }, (_event, name) => {
      if (name !== null && name !== basename(path)) return;
      waiting?.[Symbol.dispose]();
      waiting = clock.timer(SETTLE_MS, changed);
    });
    watcher.on('error', () => watcher?.close());
  } catch {
    // No folder, or no watches left on this machine.
  }
  return { [Symbol.dispose]: stop };
}

/** A text that differs after each change of a file; `-` when there is none, or none that can be looked at. */
export function fileStampOf(path: string): string {
  try {
    const { ino, size, mtimeMs, ctimeMs } = statSync(path);
    return `${ino}:${size}:${mtimeMs}:${ctimeMs}`;
  } catch {
    return '-';
  }
}
