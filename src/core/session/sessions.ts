import { failed, type Finding } from '../util/finding.ts';
import { unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../util/clock.ts';
import { AppError, errorCode, errorMessage } from '../util/errors.ts';
import type { IdFactory } from '../util/ids.ts';
import type { Logger } from '../util/log.ts';
import { openAppend as openOnDisk, type OpenAppend } from '../storage/append-file.ts';
import { ensureDirectory, syncDirectory } from '../storage/files.ts';
import type { FoldOptions } from './history.ts';
import { listTapes, type SessionInfo } from './reader.ts';
import type { TapeEntry } from './entry.ts';
import { Session } from './session.ts';
import type { StoredTapes } from './stored-tapes.ts';
import { readTail } from './tape-tail.ts';
import { Tape } from './tape.ts';
import { tapeName } from './tape-name.ts';

export interface SessionsOptions extends FoldOptions {
  /** Absolute path of the folder with the tapes. */
  readonly directory: string;
  /** Absolute path of the folder for damaged bytes. */
  readonly quarantine: string;
  readonly clock: Clock;
  readonly newId: IdFactory;
  readonly log: Logger;
  /** How many unused sessions stay open and in memory. @default 128 */
  readonly maxOpen?: number;
  /** For how long an unused session stays open and in memory, ms. @default 10 min */
  readonly idleMs?: number;
  /** The machine may have lost power while an earlier process wrote. @default false */
  readonly mayHaveLost?: boolean;
  /** @default the real disk */
  readonly openAppend?: OpenAppend;
  /** The newest turn that a session's tape must have; undefined: it need not have any. @default no tape need have any */
  readonly newestTurn?: (key: string) => string | undefined;
  /** Told when a tape lost something, with a sentence about it. @default no one is told */
  readonly onDamage?: (sentence: string) => void;
}

const IDLE_MS = 600_000;
/** Between two looks at the open files, ms. */
const LOOK_MS = 5_000;
/** Codes of a file that can't be read while the disk is fine. */
const NOT_READABLE: ReadonlySet<string | undefined> = new Set(['EISDIR', 'EACCES', 'EPERM', 'ELOOP', 'ENXIO']);

/**
 * All sessions of a home. There is never more than one `Session` object of a key: a session that was not
 * used for a while, or is not among the last that were used, closes its file handle, but is returned again as long as
 * other code still references it.
 */
export class Sessions {
  readonly #options: SessionsOptions;
  readonly #maxOpen: number;
  /** Least recently used first; `at` is on the monotonic clock. */
  readonly #recent = new Map<string, { readonly session: Session; readonly at: number }>();
  #idle: Disposable | undefined;
  #look: Disposable | undefined;
  /** When `#alive` has this many entries, those of collected sessions are deleted. */
  #sweepAt = 0;
  readonly #alive = new Map<string, WeakRef<Session>>();
  readonly #opening = new Map<string, Promise<Session>>();
  readonly #removing = new Map<string, Promise<void>>();
  /** Paths of tapes that could not be read at their last use, by key. */
  readonly #unreadable = new Map<string, string>();
  #stored: StoredTapes | undefined;
  #closed = false;

  constructor(options: SessionsOptions) {
    this.#options = options;
    this.#maxOpen = options.maxOpen ?? 128;
  }

  /** From now on each tape is also kept by a store. Call it before the first `open`; throws what `StoredTapes.fetch` throws. */
  async keepIn(stored: StoredTapes): Promise<void> {
    await stored.fetch();
    this.#stored = stored;
  }

  /** Brings to the store what only the home has, such as all from before there was a store. Stops when `signal` aborts. */
  async catchUp(signal: AbortSignal): Promise<void> {
    for (const key of (await this.#stored?.behind()) ?? []) {
      if (signal.aborted || this.#closed) return;
      await (await this.open(key)).append([]);
    }
  }

  /**
   * Opens or creates the session of a key. The newest turn of its tape is in memory as a whole, and so is `turn`, which
   * recovery may have to continue. Throws `tape-unreadable` when its file can't be read though the disk is fine, and
   * `sessions-closed` after `close`.
   */
  async open(key: string, options: { readonly turn?: string } = {}): Promise<Session> {
    if (this.#closed) throw new AppError('sessions-closed', 'The sessions are closed.');
    const session = this.#find(key) ?? (await this.#readable(key));
    this.#use(session);
    if (options.turn !== undefined) await session.reach(options.turn);
    return session;
  }

  /** What a person should know of the tapes: each that could not be read at its last use. */
  findings(): readonly Finding[] {
    return Array.from(this.#unreadable.values(), (path) => ({
      id: 'store.tapes',
      ...failed(`${path} can't be read, so its conversation waits.`, 'Repair the file or move it away'),
      facts: { path },
    }));
  }

  /** Every session with a tape, in no particular order. */
  list(): Promise<readonly SessionInfo[]> {
    return listTapes(this.#options.directory);
  }

  /** Deletes the tape of a session. False: the session is in use, or there is none. */
  async remove(key: string): Promise<boolean> {
    if (this.#closed || this.#find(key) !== undefined || this.#opening.has(key)) return false;
    const { directory } = this.#options;
    const removing = this.#unlink(join(directory, tapeName(key)), key);
    // `open` waits for this and then creates a new tape.
    this.#removing.set(
      key,
      removing.catch(() => {}),
    );
    try {
      await removing;
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return false;
      throw error;
    } finally {
      this.#removing.delete(key);
    }
    await syncDirectory(directory);
    return true;
  }

  /**
   * Deletes the tape of a session that may be open; no one may append to it meanwhile. False: there is none. A session that
   * other code still holds cannot be appended to any more.
   */
  async delete(key: string): Promise<boolean> {
    await this.#opening.get(key)?.catch(() => {});
    const open = this.#find(key);
    this.#alive.delete(key);
    this.#recent.delete(key);
    await open?.close();
    return await this.remove(key);
  }

  /** Finishes all appends and closes the files; sessions cannot be used afterwards. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#idle?.[Symbol.dispose]();
    this.#look?.[Symbol.dispose]();
    await Promise.allSettled(this.#opening.values());
    const open = Array.from(this.#alive.keys()).flatMap((key) => this.#find(key) ?? []);
    await Promise.all(open.map((session) => session.close()));
    this.#recent.clear();
    this.#alive.clear();
  }

  /** From the store first: what only the store had would be there again after the next start. */
  async #unlink(path: string, key: string): Promise<void> {
    await this.#stored?.remove(key);
    await unlink(path);
  }

  #find(key: string): Session | undefined {
    return this.#alive.get(key)?.deref();
  }

  async #readable(key: string): Promise<Session> {
    try {
      const session = await this.#load(key);
      this.#unreadable.delete(key);
      return session;
    } catch (error) {
      const code = errorCode(error);
      if (!NOT_READABLE.has(code)) throw error;
      const path = join(this.#options.directory, tapeName(key));
      this.#unreadable.set(key, path);
      // Without its cause, which would count as a failure of the disk.
      throw new AppError('tape-unreadable', `${path} can't be read: ${errorMessage(error)}`, { facts: { code } });
    }
  }

  #load(key: string): Promise<Session> {
    const known = this.#opening.get(key);
    if (known !== undefined) return known;
    const opening = this.#read(key).finally(() => this.#opening.delete(key));
    this.#opening.set(key, opening);
    return opening;
  }

  async #read(key: string): Promise<Session> {
    const { directory, log, openAppend = openOnDisk } = this.#options;
    await this.#removing.get(key);
    await ensureDirectory(directory);
    const tape = await Tape.open({
      ...this.#options,
      key,
      path: join(directory, tapeName(key)),
      openAppend: this.#stored?.opening(key, openAppend) ?? openAppend,
    });
    let bytes = 0;
    const tail = await readTail(tape.entriesBackwards({ onRead: (count) => (bytes += count) }));
    log.debug('session: opened', { session: key, entries: tail.entries.length, bytes });
    this.#compare(key, tail.entries);
    const session: Session = new Session({
      ...this.#options,
      key,
      tape,
      tail,
      onUse: () => this.#use(session),
    });
    this.#alive.set(key, new WeakRef(session));
    return session;
  }

  #use(session: Session): void {
    const { clock, idleMs = IDLE_MS } = this.#options;
    this.#recent.delete(session.key);
    this.#recent.set(session.key, { session, at: clock.monotonic() });
    for (const oldest of this.#recent.values()) {
      if (this.#recent.size <= this.#maxOpen) break;
      this.#rest(oldest.session);
    }
    this.#idle ??= clock.timer(idleMs, () => this.#restIdle(idleMs));
    this.#look ??= clock.timer(LOOK_MS, () => void this.#lookAtOpen());
    if (this.#alive.size < this.#sweepAt) return;
    for (const [key, ref] of this.#alive) if (ref.deref() === undefined) this.#alive.delete(key);
    this.#sweepAt = 2 * Math.max(this.#maxOpen, this.#alive.size);
  }

  /** Says what a tape lacks that a turn put there for certain. */
  #compare(key: string, entries: readonly TapeEntry[]): void {
    const expected = this.#options.newestTurn?.(key);
    if (expected === undefined || entries.some(({ turn }) => turn !== null && turn >= expected)) return;
    const what = entries.length === 0 ? 'is gone or cannot be read' : 'lacks its newest messages';
    this.#tellDamage(key, `${what}, so I do not remember what was said there.`);
  }

  async #lookAtOpen(): Promise<void> {
    for (const { session } of this.#recent.values()) {
      const damage = await session.damage().catch(() => null);
      if (damage !== null)
        this.#tellDamage(session.key, `${damage}. I remember the conversation until I am restarted.`);
    }
    if (this.#closed) return;
    this.#look =
      this.#recent.size === 0 ? undefined : this.#options.clock.timer(LOOK_MS, () => void this.#lookAtOpen());
  }

  #tellDamage(key: string, what: string): void {
    const { directory, log, onDamage } = this.#options;
    log.error('session: tape damaged', { session: key, what });
    const path = join(directory, tapeName(key));
    onDamage?.(
      `The file of the conversation ${key}, ${path}, ${what} If you did not do that, take it from a backup (docs/backup.md).`,
    );
  }

  #restIdle(idleMs: number): void {
    const { clock } = this.#options;
    const now = clock.monotonic();
    for (const { session, at } of this.#recent.values()) {
      if (now - at < idleMs) break;
      this.#rest(session);
    }
    const [oldest] = this.#recent.values();
    this.#idle = oldest === undefined ? undefined : clock.timer(oldest.at + idleMs - now, () => this.#restIdle(idleMs));
  }

  /** What is in memory of the session goes when no other code holds it. */
  #rest(session: Session): void {
    this.#recent.delete(session.key);
    session.rest().catch((error: unknown) => {
      this.#options.log.warn('session: file not closed', { session: session.key, error: errorMessage(error) });
    });
  }
}
