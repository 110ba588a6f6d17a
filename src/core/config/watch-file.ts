import { watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import { fileStampOf } from '../storage/watched-file.ts';
import { untilNextLook, type Clock } from '../util/clock.ts';

/** An editor writes a file in several steps; what comes within this counts as one change. */
const SETTLE_MS = 150;
/** Between two looks at the file, for folders in which the system tells of no change. */
const LOOK_MS = 3_000;

/**
 * Calls back after a file was changed, made, replaced or removed, until disposed of. The folder is watched, since editors put
 * another file in place of the old one, and the file is looked at every few seconds.
 */
export function watchEditedFile(path: string, onChange: () => void, clock: Clock): Disposable {
  let seen: string | undefined;
  let settling: Disposable | undefined;
  let looking: Disposable | undefined;
  let isOver = false;
  const settle = (): void => {
    settling?.[Symbol.dispose]();
    if (!isOver) settling = clock.timer(SETTLE_MS, onChange);
  };
  // A look takes a few microseconds here and many times that in the thread pool, and a process may run many homes.
  const look = (): void => {
    const now = fileStampOf(path);
    if (seen !== undefined && seen !== now) settle();
    seen = now;
    looking = clock.timer(untilNextLook(clock, LOOK_MS), look);
  };
  const watcher = watchFolder(dirname(path), (name) => {
    if (name === null || name === basename(path)) settle();
  });
  look();
  return {
    [Symbol.dispose]: () => {
      isOver = true;
      watcher[Symbol.dispose]();
      settling?.[Symbol.dispose]();
      looking?.[Symbol.dispose]();
    },
  };
}

/** Where the system cannot watch a folder, nothing is told. */
function watchFolder(folder: string, onEvent: (name: string | null) => void): Disposable {
  try {
    const watcher = watch(folder, { persistent: false }, (_, name) => onEvent(name));
    watcher.on('error', () => watcher.close());
    return { [Symbol.dispose]: () => watcher.close() };
  } catch {
    return { [Symbol.dispose]: () => {} };
  }
}
