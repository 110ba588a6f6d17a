import { statSync, watch, type FSWatcher } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { Clock } from '../util/clock.ts';
import { isLogDiscarded } from './wal-header.ts';

/** After the last of several changes, ms. */
const SETTLE_MS = 500;
/** Between two looks at a file of which the system tells no change, ms. */
const LOOK_MS = 3_600_000;
/** A file that no one else touched is read from end to end this often, ms: a disk may spoil what it holds. */
const READ_MS = 86_400_000;
/** Between two looks at the write-ahead log, which our own writes change all the time, ms. */
const LOG_LOOK_MS = 5_000;
/** Of the header of a log; without it SQLite leaves out the whole log at the next start. */
const LOG_HEADER_BYTES = 32;
/** Larger files are not read from end to end, bytes. */
const READ_BYTES = 400_000_000;

export interface DatabaseWatchOptions {
  readonly clock: Clock;
  /** Our own thread writes the file now. */
  readonly isWriting: () => boolean;
  /** Begins to read the file from end to end. */
  readonly read: () => void;
  /** The file is gone or empty, or was replaced. */
  readonly lost: (reason: string) => void;
  /** The same of the write-ahead log beside it, which only the open connection still has. */
  readonly logLost: (reason: string) => void;
}

interface FileFacts {
  readonly inode: number;
  /** Differs after each change. */
  readonly stamp: string;
  readonly bytes: number;
}

/**
 * Notices that another program changed, replaced or removed the file of an open database. SQLite would go on answering from
 * what it has in memory, and the next start would find the file damaged.
 */
export class DatabaseWatch implements Disposable {
  readonly #path: string;
  readonly #options: DatabaseWatchOptions;
  readonly #inode: number | undefined;
  readonly #log: string;
  #logInode: number | undefined;
  #logLook: Disposable | undefined;
  #hadFrames = false;
  #seen: string | undefined;
  #readAt: number;
  readonly #watchers: FSWatcher[] = [];
  #timer: Disposable | undefined;

  constructor(path: string, options: DatabaseWatchOptions) {
    this.#path = path;
    this.#options = options;
    this.#readAt = options.clock.monotonic();
    const found = this.#look();
    this.#inode = typeof found === 'string' ? undefined : found.inode;
    this.#log = `${path}-wal`;
    this.written();
    this.hasLog();
    this.#follow(path, () => this.#wait(SETTLE_MS));
    // An open file that is removed says nothing itself; its folder does.
    this.#follow(dirname(path), (event, name) => {
      if (event === 'rename' && name === basename(this.#log)) this.#wait(SETTLE_MS);
    });
    this.#wait(LOOK_MS);
    this.#watchLog();
  }

  /** A log that is emptied or overwritten in place: what it held is nowhere else any more. */
  #watchLog(): void {
    this.#logLook = this.#options.clock.timer(LOG_LOOK_MS, () => {
      if (!this.#options.isWriting() && this.#isLogSpoiled()) {
        this.#options.lost(`${this.#log} was emptied or overwritten while the assistant had it open`);
        this[Symbol.dispose]();
      } else this.#watchLog();
    });
  }

  #isLogSpoiled(): boolean {
    const found = lookAt(this.#log);
    if (typeof found === 'string' || found.inode !== this.#logInode) return false;
    if (found.bytes < LOG_HEADER_BYTES) return this.#hadFrames;
    this.#hadFrames = true;
    return isLogDiscarded(this.#path);
  }

  #follow(path: string, changed: (event: string, name: string | null) => void): void {
    try {
      const watcher = watch(path, { persistent: false }, changed);
      watcher.on('error', () => watcher.close());
      this.#watchers.push(watcher);
    } catch {
      // No watches are left on this machine.
    }
  }

  /** Whether the write-ahead log is the one that the connection writes. One that isn't there yet counts. */
  hasLog(): boolean {
    const found = lookAt(this.#log);
    if (found === 'no answer') return true;
    if (found !== 'gone') this.#logInode ??= found.inode;
    return found === 'gone' ? this.#logInode === undefined : found.inode === this.#logInode;
  }

  /** Call when our own thread has written the file. */
  written(): void {
    const found = this.#look();
    if (typeof found !== 'string') this.#seen = found.stamp;
  }

  [Symbol.dispose](): void {
    for (const watcher of this.#watchers) watcher.close();
    this.#timer?.[Symbol.dispose]();
    this.#logLook?.[Symbol.dispose]();
  }

  #wait(ms: number): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = this.#options.clock.timer(ms, () => {
      if (this.#options.isWriting()) this.#wait(SETTLE_MS);
      else if (this.#isSound()) this.#wait(LOOK_MS);
      else this[Symbol.dispose]();
    });
  }

  /** False when there is nothing left to be watched. */
  #isSound(): boolean {
    const { clock, read, lost, logLost } = this.#options;
    const found = this.#look();
    if (!this.hasLog()) {
      logLost(`${this.#log} was removed or replaced while the assistant had it open`);
      return false;
    }
    // The next write says it better.
    if (found === 'no answer') return true;
    if (found === 'gone' || found.inode !== this.#inode) {
      lost(`the file was ${found === 'gone' ? 'removed' : 'replaced'} while the assistant had it open`);
      return false;
    }
    // A new connection would take this for a new database, and find nothing wrong with it.
    if (found.bytes === 0) {
      lost('the file was emptied while the assistant had it open');
      return false;
    }
    const now = clock.monotonic();
    if (found.stamp === this.#seen && now - this.#readAt < READ_MS) return true;
    this.#seen = found.stamp;
    this.#readAt = now;
    if (found.bytes <= READ_BYTES) read();
    return true;
  }

  #look(): FileFacts | 'gone' | 'no answer' {
    return lookAt(this.#path);
  }
}

function lookAt(path: string): FileFacts | 'gone' | 'no answer' {
  try {
    const facts = statSync(path, { throwIfNoEntry: false });
    return facts === undefined
      ? 'gone'
      : { inode: facts.ino, stamp: `${facts.size} ${facts.mtimeMs}`, bytes: facts.size };
  } catch {
    return 'no answer';
  }
}
