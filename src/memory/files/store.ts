import { dirname, join } from 'node:path';
import { plainDisk, type Disk } from '../../storage/disk.ts';
import type { Clock } from '../../util/clock.ts';
import { AppError, errorCode, errorMessage } from '../../util/errors.ts';
import type { Logger } from '../../util/log.ts';
import { Slots } from '../../util/slots.ts';
import { editFact, type FactChange, type FactOutcome } from './edit-fact.ts';
import { losesMoreThanHalf } from './facts.ts';
import { HistoryFile, renderHistory, type HistoryEntry } from './history-file.ts';
import { hashOfBytes, LARGEST_MEMORY, readMemoryFile, realFile, type MemoryText } from './memory-file.ts';
import { Versions, type Version } from './versions.ts';

export interface MemoryStoreOptions {
  /** Absolute; the files are in its folder `memory`. */
  readonly workspace: string;
  /** The home's folder of versions; those of the memory are in `memory` below it. */
  readonly versions: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** IANA zone of the owner, or null for the machine's. */
  readonly timezone: string | null;
  /** Takes secrets out of what is written. @default nothing is taken out */
  readonly redact?: (text: string) => string;
  /** @default the real one, and nobody is told what it refuses */
  readonly disk?: Partial<Disk>;
}

export interface ReplaceOptions {
  /** Hash of the text that the new one was made from. */
  readonly ifHash: string;
  /** For `log`: why the old text was replaced. */
  readonly reason: string;
  /** A person agreed to lose more than half. @default false */
  readonly allowShrink?: boolean;
}

/** `changed`: the file is not what it was when it was read. `shrinks`: more than half would be lost. */
export type ReplaceResult =
  | { readonly ok: true; /** Of the file as it is now. */ readonly hash: string }
  | { readonly ok: false; readonly why: 'changed' | 'shrinks' };

const MOST_TRIES = 5;

/**
 * The memory on disk: `MEMORY.md` (facts, replaced as a whole, earlier versions kept) and `HISTORY.md` (append-only).
 * Every change is durable when it resolves, and leaves the file as it was when it fails. Changes wait for each other;
 * a person may edit the files at any time: what they saved before a change began to be written is never lost.
 * Throws `memory-unreadable` for a file that is damaged, `memory-unwritable` when the disk says no; one sentence each.
 */
export class MemoryStore {
  readonly #path: string;
  readonly #historyPath: string;
  readonly #timezone: string | null;
  readonly #log: Logger;
  readonly #redact: (text: string) => string;
  readonly #disk: Disk;
  readonly #versions: Versions;
  readonly #history: HistoryFile;
  readonly #memoryLock = new Slots(1);
  readonly #historyLock = new Slots(1);

  constructor({ workspace, versions, clock, log, timezone, redact, disk }: MemoryStoreOptions) {
    this.#redact = redact ?? ((text) => text);
    this.#path = join(workspace, 'memory', 'MEMORY.md');
    this.#historyPath = join(workspace, 'memory', 'HISTORY.md');
    this.#timezone = timezone;
    this.#log = log;
    this.#disk = { ...plainDisk, ...disk };
    this.#versions = new Versions(join(versions, 'memory'), clock, this.#disk);
    this.#history = new HistoryFile(this.#historyPath, this.#disk);
  }

  /** MEMORY.md as it is now. */
  read(): Promise<MemoryText> {
    return readMemoryFile(this.#path);
  }

  /**
   * Replaces MEMORY.md; the old text becomes a version first. A text without a line break at its end gets one. The same
   * text again changes nothing. A rewrite shrinks when it holds less than half of the different facts of the old
   * text, or less than half of their characters; headings, comments and empty lines are no facts.
   */
  replace(text: string, options: ReplaceOptions): Promise<ReplaceResult> {
    return this.#memoryLock.run(async () => {
      const now = await this.read();
      if (now.hash !== options.ifHash) return { ok: false, why: 'changed' };
      const next = wellFormed(this.#redact(text));
      if (options.allowShrink !== true && losesMoreThanHalf(now.text, next)) return { ok: false, why: 'shrinks' };
      return await this.#put(next, now, options.reason);
    });
  }

  /** Adds, changes or removes one fact, keeping all other changes of the file. */
  change(change: FactChange): Promise<FactOutcome> {
    return this.#settle(async (now) => {
      const { text, ...edit } = editFact(now.text, { ...change, fact: this.#redact(change.fact) });
      const reason = 'fact' in edit ? `memory_write, ${edit.outcome}: ${edit.fact}` : '';
      return text === now.text || (await this.#put(wellFormed(text), now, reason)).ok ? edit : undefined;
    });
  }

  /** Keeps a text that was refused as a version, so that the owner can `restore` it; returns its id. */
  propose(text: string, reason: string): Promise<string> {
    return this.#memoryLock.run(async () => {
      try {
        const { id } = await this.#versions.keep(wellFormed(this.#redact(text)), 'proposed', reason);
        await this.#prune();
        return id;
      } catch (error) {
        throw unwritable('The proposed memory could not be kept', error);
      }
    });
  }

  /** Newest first. */
  log(): Promise<readonly Version[]> {
    return this.#versions.list();
  }

  /** A version, or without an id the present text. Throws `memory-version` for an id that is not there. */
  async show(id?: string): Promise<{ readonly version: Version | null; readonly text: string }> {
    return id === undefined ? { version: null, text: (await this.read()).text } : this.#versions.read(id);
  }

  /** Makes a version the present text, after the present one was kept. */
  restore(id: string): Promise<Version> {
    return this.#settle(async (now) => {
      const { version, text } = await this.#versions.read(id);
      return (await this.#put(text, now, `restore of ${id}`)).ok ? version : undefined;
    });
  }

  /** Appends entries to HISTORY.md, those without text left out; see `appendRendered`. */
  appendHistory(entries: readonly HistoryEntry[]): Promise<void> {
    const rendered = entries.map((entry) => renderHistory(entry, this.#timezone));
    return this.appendRendered(rendered.filter((paragraph) => paragraph !== undefined));
  }

  /**
   * Appends paragraphs made by `renderHistory`. Paragraphs that the end of the file holds already are not written
   * again, so that an append may be repeated after a crash.
   */
  appendRendered(paragraphs: readonly string[]): Promise<void> {
    return this.#historyLock.run(async () => {
      try {
        await this.#history.append(paragraphs.map(this.#redact));
      } catch (error) {
        throw unwritable(`${this.#historyPath} could not be added to`, error);
      }
    });
  }

  /** Tries again from the text as it is then, when a person saved the file in the middle. */
  #settle<T>(attempt: (now: MemoryText) => Promise<T | undefined>): Promise<T> {
    return this.#memoryLock.run(async () => {
      for (let tries = 0; tries < MOST_TRIES; tries += 1) {
        const settled = await attempt(await this.read());
        if (settled !== undefined) return settled;
      }
      throw new AppError('memory-busy', `${this.#path} is being changed by another program all the time. Try again.`);
    });
  }

  async #put(next: string, now: MemoryText, reason: string): Promise<ReplaceResult> {
    if (next === now.text) return { ok: true, hash: now.hash };
    if (Buffer.byteLength(next) > LARGEST_MEMORY) {
      throw new AppError('memory-too-large', 'The memory would be larger than 1 MiB. Keep only lasting facts in it.');
    }
    try {
      if (now.text.trim() !== '') await this.#versions.keep(now.text, 'kept', reason);
      const path = await realFile(this.#path);
      await this.#disk.ensure(dirname(path));
      // Keeping took a while, in which a person may have saved the file.
      if ((await this.read()).hash !== now.hash) return { ok: false, why: 'changed' };
      await this.#disk.replace(path, next);
    } catch (error) {
      throw unwritable(`${this.#path} could not be changed`, error);
    }
    await this.#prune();
    return { ok: true, hash: hashOfBytes(next) };
  }

  /** Too many versions harm nobody. */
  async #prune(): Promise<void> {
    await this.#versions.prune().catch((error: unknown) => {
      this.#log.warn('memory: old versions not removed', { reason: errorMessage(error) });
    });
  }
}

function wellFormed(text: string): string {
  const whole = text.toWellFormed().replaceAll('\r\n', '\n');
  return whole === '' || whole.endsWith('\n') ? whole : `${whole}\n`;
}

function unwritable(what: string, cause: unknown): unknown {
  if (cause instanceof AppError) return cause;
  return new AppError('memory-unwritable', `${what}: ${problemOf(cause)}. What was there is as it was.`, { cause });
}

function problemOf(error: unknown): string {
  switch (errorCode(error)) {
    case 'ENOSPC':
    case 'EDQUOT':
      return 'the disk is full';
    case 'EROFS':
      return 'the disk is read-only';
    case 'EACCES':
    case 'EPERM':
      return 'this user may not write there';
    case 'ENOTDIR':
    case 'EEXIST':
      return 'a file is in the way of a folder';
    default:
      return errorMessage(error);
  }
}
