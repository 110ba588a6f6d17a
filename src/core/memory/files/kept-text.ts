import { readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Disk } from '../../storage/disk.ts';
import { ifThere } from '../../storage/files.ts';
import type { Clock } from '../../util/clock.ts';
import { AppError, errorCode, errorMessage } from '../../util/errors.ts';
import type { Logger } from '../../util/log.ts';
import { Slots } from '../../util/slots.ts';
import type { Writer } from '../facts/source.ts';
import { hashOfBytes, readMemoryFile, realFile, type MemoryText } from './memory-file.ts';
import { Versions, type Version } from './versions.ts';

export interface KeptTextOptions {
  /** Absolute. */
  readonly path: string;
  /** Folder of its earlier versions. */
  readonly versions: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly disk: Disk;
  /** What it is called in the sentence about a version that is not there. @default 'the memory' */
  readonly name?: string;
  /** Called before each replacement; what it returns is called after it. When it rejects, nothing is written. @default no one is told */
  readonly onReplace?: (now: string, next: string, by: Writer) => Promise<(text: string) => Promise<void>>;
}

/** `changed`: the file is not what it was when it was read. */
export type KeptResult =
  | { readonly ok: true; /** Of the file as it is now. */ readonly hash: string }
  | { readonly ok: false; readonly why: 'changed' };

/** What is about to replace a file, for those who keep what is needed to take it back. */
export interface Replacement {
  /** Where the file really lies, absolute. */
  readonly path: string;
  /** The file as it is; null: there is none. */
  readonly before: { readonly bytes: Uint8Array; readonly mode: number } | null;
  readonly after: Uint8Array;
}

/** Why a text is replaced. */
export interface PutReason {
  /** For the list of versions. */
  readonly reason: string;
  /** Keeps what is needed to take the change back; when it rejects, nothing is written. @default nothing is kept */
  readonly record?: (replacement: Replacement) => Promise<void>;
  /** What replaces it. @default a person */
  readonly by?: Writer;
}

const BY_A_PERSON: Writer = { how: 'edit' };
const MOST_TRIES = 5;

/**
 * A text file that people and the assistant edit, and its earlier versions. A change is durable when it resolves and
 * leaves the file as it was when it fails. Changes wait for each other; what a person saved before a change began to be
 * written is never lost. Throws `memory-unreadable` for a file that is damaged, `memory-unwritable` when the disk says
 * no, `memory-version` for a version that is not there; one sentence each.
 */
export class KeptText {
  readonly path: string;
  readonly #options: KeptTextOptions;
  readonly #versions: Versions;
  readonly #lock = new Slots(1);

  constructor(options: KeptTextOptions) {
    this.path = options.path;
    this.#options = options;
    this.#versions = new Versions(options.versions, options);
  }

  /** The file as it is now; a missing one is empty. */
  read(): Promise<MemoryText> {
    return readMemoryFile(this.path);
  }

  /** Replaces the text, if it still has this hash; the old one becomes a version first. */
  replace(text: string, options: { readonly ifHash: string; readonly reason: string }): Promise<KeptResult> {
    return this.alone(async () => {
      const now = await this.read();
      if (now.hash !== options.ifHash) return { ok: false, why: 'changed' };
      return await this.put(wellFormed(text), now, options);
    });
  }

  /** Newest first. */
  log(): Promise<readonly Version[]> {
    return this.#versions.list();
  }

  version(id: string): Promise<{ readonly version: Version; readonly text: string }> {
    return this.#versions.read(id);
  }

  /** Makes a version the present text, after the present one was kept. */
  restore(id: string): Promise<Version> {
    return this.settle(async (now) => {
      const { version, text } = await this.#versions.read(id);
      const why = { reason: `restore of ${id}`, by: { how: 'restore' } } as const;
      return (await this.put(text, now, why)).ok ? version : undefined;
    });
  }

  /** Keeps a text that was refused as a version; returns its id. */
  propose(text: string, reason: string): Promise<string> {
    return this.alone(async () => {
      try {
        const { id } = await this.#versions.keep(wellFormed(text), 'proposed', reason);
        await this.#prune();
        return id;
      } catch (error) {
        throw unwritable('The proposed memory could not be kept', error);
      }
    });
  }

  /** Keeps the present text as a version, for what is about to change the file in another way. */
  keepPresent(reason: string): Promise<void> {
    return this.alone(async () => {
      const { text } = await this.read();
      if (text.trim() !== '') await this.#versions.keep(text, 'kept', reason);
      await this.#prune();
    });
  }

  /** Runs while no other change does. */
  alone<T>(work: () => Promise<T>): Promise<T> {
    return this.#lock.run(work);
  }

  /** Tries again from the text as it is then, when a person saved the file in the middle (undefined). */
  settle<T>(attempt: (now: MemoryText) => Promise<T | undefined>): Promise<T> {
    return this.alone(async () => {
      for (let tries = 0; tries < MOST_TRIES; tries += 1) {
        const settled = await attempt(await this.read());
        if (settled !== undefined) return settled;
      }
      throw new AppError('memory-busy', `${this.path} is being changed by another program all the time. Try again.`);
    });
  }

  /** Puts a text into the place of `now`; null removes the file. For use within `alone` or `settle`. */
  async put(next: string | null, now: MemoryText, { reason, record, by }: PutReason): Promise<KeptResult> {
    if (hashOfBytes(next ?? '') === now.hash && next !== null) return { ok: true, hash: now.hash };
    const { disk, onReplace } = this.#options;
    let replaced: ((text: string) => Promise<void>) | undefined;
    try {
      if (now.text.trim() !== '') await this.#versions.keep(now.text, 'kept', reason);
      const path = await realFile(this.path);
      await disk.ensure(dirname(path));
      if (record !== undefined && next !== null) await record(await replacementOf(path, next));
      replaced = await onReplace?.(now.text, next ?? '', by ?? BY_A_PERSON);
      // Keeping took a while, in which a person may have saved the file.
      if ((await this.read()).hash !== now.hash) return { ok: false, why: 'changed' };
      if (next === null) await disk.remove(path);
      else await disk.replace(path, next);
    } catch (error) {
      throw unwritable(`${this.path} could not be changed`, error);
    }
    await replaced?.(next ?? '');
    await this.#prune();
    return { ok: true, hash: hashOfBytes(next ?? '') };
  }

  /** Too many versions harm no one. */
  async #prune(): Promise<void> {
    await this.#versions.prune().catch((error: unknown) => {
      this.#options.log.warn('memory: old versions not removed', { path: this.path, reason: errorMessage(error) });
    });
  }
}

async function replacementOf(path: string, next: string): Promise<Replacement> {
  const bytes = await ifThere(readFile(path));
  const before = bytes === undefined ? null : { bytes, mode: (await stat(path)).mode & 0o777 };
  return { path, before, after: Buffer.from(next) };
}

/** With lines ended by `\n`, the last one too. */
export function wellFormed(text: string): string {
  const whole = text.toWellFormed().replaceAll('\r\n', '\n');
  return whole === '' || whole.endsWith('\n') ? whole : `${whole}\n`;
}

/** The error of a change that was not made; `what` begins its sentence. An `AppError` stays as it is. */
export function unwritable(what: string, cause: unknown): unknown {
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
