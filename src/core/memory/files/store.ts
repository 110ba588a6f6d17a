import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { plainDisk, type Disk } from '../../storage/disk.ts';
import type { Clock } from '../../util/clock.ts';
import { ifThere } from '../../storage/files.ts';
import { AppError, errorMessage } from '../../util/errors.ts';
import type { Logger } from '../../util/log.ts';
import { Slots } from '../../util/slots.ts';
import { factsByKey } from '../facts/difference.ts';
import { FactRecords, type FactRecordsOptions } from '../facts/records.ts';
import type { FactRecord, FactRows, Writer } from '../facts/source.ts';
import { editFact, type FactChange, type FactOutcome } from './edit-fact.ts';
import { losesMoreThanHalf } from './facts.ts';
import { HistoryFile, renderHistory, type HistoryEntry } from './history-file.ts';
import { KeptText, unwritable, wellFormed, type KeptResult, type PutReason } from './kept-text.ts';
import { hashOfBytes, LARGEST_MEMORY, type MemoryText } from './memory-file.ts';
import { takeBackFact, type TakenFact } from './take-back.ts';
import type { Version } from './versions.ts';

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
  /** @default the real one, and no one is told what it refuses */
  readonly disk?: Partial<Disk>;
  /** Where it is kept which fact comes from where. @default it is not kept */
  readonly facts?: FactRows;
}

/** A fact of MEMORY.md, and where it comes from. */
export interface KnownFact {
  /** As it stands in the file. */
  readonly fact: string;
  readonly record: FactRecord;
}

export interface ReplaceOptions {
  /** Hash of the text that the new one was made from. */
  readonly ifHash: string;
  /** For `log`: why the old text was replaced. */
  readonly reason: string;
  /** A person agreed to lose more than half. @default false */
  readonly allowShrink?: boolean;
  /** @default a person */
  readonly by?: Writer;
}

/** `shrinks`: more than half would be lost. */
export type ReplaceResult = KeptResult | { readonly ok: false; readonly why: 'shrinks' };

/**
 * The memory on disk: `MEMORY.md` (facts, replaced as a whole, earlier versions kept) and `HISTORY.md` (append-only).
 * Every change is durable when it resolves, and leaves the file as it was when it fails. Changes wait for each other;
 * a person may edit the files at any time: what they saved before a change began to be written is never lost.
 * Throws `memory-unreadable` for a file that is damaged, `memory-unwritable` when the disk says no; one sentence each.
 */
export class MemoryStore {
  readonly historyPath: string;
  readonly #timezone: string | null;
  readonly #redact: (text: string) => string;
  readonly #memory: KeptText;
  readonly #history: HistoryFile;
  readonly #historyLock = new Slots(1);
  readonly #facts: FactRecords | null;

  constructor({ workspace, versions, clock, log, timezone, redact, disk, facts }: MemoryStoreOptions) {
    this.#redact = redact ?? ((text) => text);
    this.historyPath = join(workspace, 'memory', 'HISTORY.md');
    this.#timezone = timezone;
    const whole = { ...plainDisk, ...disk };
    const path = join(workspace, 'memory', 'MEMORY.md');
    this.#history = new HistoryFile(this.historyPath, whole);
    const append: FactRecordsOptions['append'] = (entries) => this.appendHistory(entries);
    const savedAt = async (): Promise<number> => Math.floor((await ifThere(stat(path)))?.mtimeMs ?? clock.now());
    const records = facts === undefined ? null : new FactRecords({ rows: facts, clock, timezone, append, savedAt });
    this.#facts = records;
    const replaced = (text: string): Promise<void> =>
      Promise.resolve(records?.takeIn(text)).catch((error: unknown) => {
        // It is planned, so it is taken in with the next change.
        log.warn('memory: source of facts not recorded yet', { reason: errorMessage(error) });
      });
    this.#memory = new KeptText({
      path,
      versions: join(versions, 'memory'),
      clock,
      log,
      disk: whole,
      onReplace: async (now, next, by) => {
        await records?.plan(now, next, by);
        return replaced;
      },
    });
  }

  /** Of MEMORY.md, absolute. */
  get path(): string {
    return this.#memory.path;
  }

  /** MEMORY.md as it is now. */
  read(): Promise<MemoryText> {
    return this.#memory.read();
  }

  /**
   * Replaces MEMORY.md; the old text becomes a version first. A text without a line break at its end gets one. The same
   * text again changes nothing. A rewrite shrinks when it holds less than half of the different facts of the old
   * text, or less than half of their characters; headings, comments and empty lines are no facts.
   */
  replace(text: string, options: ReplaceOptions): Promise<ReplaceResult> {
    return this.#memory.alone(async () => {
      const now = await this.read();
      if (now.hash !== options.ifHash) return { ok: false, why: 'changed' };
      const next = wellFormed(this.#redact(text));
      if (options.allowShrink !== true && losesMoreThanHalf(now.text, next)) return { ok: false, why: 'shrinks' };
      return await this.#put(next, now, { reason: options.reason, by: options.by });
    });
  }

  /** Adds, changes or removes one fact, keeping all other changes of the file. `record` and `by`: see `PutReason`. */
  change(change: FactChange, { record, by }: Pick<PutReason, 'record' | 'by'> = {}): Promise<FactOutcome> {
    return this.#memory.settle(async (now) => {
      const { text, ...edit } = editFact(now.text, this.#redacted(change));
      if (text === now.text) return edit;
      const reason = 'fact' in edit ? `memory_write, ${edit.outcome}: ${edit.fact}` : '';
      const replacement = edit.outcome === 'changed' ? edit.fact : undefined;
      const writer = by === undefined ? undefined : { ...by, replacement };
      return (await this.#put(wellFormed(text), now, { reason, record, by: writer })).ok ? edit : undefined;
    });
  }

  /** The facts of MEMORY.md in its order, each with where it comes from; nothing where that is not kept. */
  facts(): Promise<readonly KnownFact[]> {
    return this.#memory.alone(async () => {
      const { text } = await this.read();
      await this.#facts?.takeIn(text);
      const records = this.#facts?.holding();
      return [...factsByKey(text)].flatMap(([key, fact]) => {
        const record = records?.get(key);
        return record === undefined ? [] : [{ fact, record }];
      });
    });
  }

  /** Facts that no longer stand, the last ones first, at most `most`. */
  async endedFacts(most: number): Promise<readonly FactRecord[]> {
    await this.facts();
    return this.#facts?.ended(most) ?? [];
  }

  /** Takes in what an earlier process changed without coming to record it. */
  async catchUp(): Promise<void> {
    if (this.#facts?.isBehind === true) await this.facts();
  }

  /**
   * Takes changes of single facts back, the newest first; `recorded` holds them oldest first, with the bytes of the file
   * before and after each (`before` null: there was no file). A file that is as the last of them left it is as before,
   * byte for byte; in another one each fact that is as its change left it. `dry` changes nothing.
   */
  takeBack(
    recorded: readonly { readonly before: Uint8Array | null; readonly after: Uint8Array }[],
    { dry }: { readonly dry: boolean },
  ): Promise<readonly TakenFact[]> {
    return this.#memory.settle(async (now) => {
      if (now.hash === hashOfBytes(recorded[0]?.before ?? '')) return [];
      let text = now.text;
      const facts: TakenFact[] = [];
      for (const { before, after } of recorded.toReversed()) {
        const done = takeBackFact(text, { before: textOf(before), after: textOf(after) });
        facts.push(...done.facts);
        text = done.text;
      }
      const whole = recorded.every(
        ({ before }, n) => n === 0 || hashOfBytes(before ?? '') === hashAfter(recorded[n - 1]),
      );
      const first = recorded[0]?.before ?? null;
      const exact = whole && now.hash === hashAfter(recorded.at(-1));
      const next = exact ? (first === null ? null : Buffer.from(first).toString()) : text;
      if (dry || facts.every(({ outcome }) => outcome === 'left')) return facts;
      return (await this.#memory.put(next, now, { reason: 'undo', by: { how: 'undo' } })).ok ? facts : undefined;
    });
  }

  /** Keeps a text that was refused as a version, so that the owner can `restore` it; returns its id. */
  propose(text: string, reason: string): Promise<string> {
    return this.#memory.propose(this.#redact(text), reason);
  }

  /** Keeps the present MEMORY.md as a version. */
  keepPresent(reason: string): Promise<void> {
    return this.#memory.keepPresent(reason);
  }

  /** Newest first. */
  log(): Promise<readonly Version[]> {
    return this.#memory.log();
  }

  /** A version, or without an id the present text. Throws `memory-version` for an id that is not there. */
  async show(id?: string): Promise<{ readonly version: Version | null; readonly text: string }> {
    return id === undefined ? { version: null, text: (await this.read()).text } : await this.#memory.version(id);
  }

  /** Makes a version the present text, after the present one was kept. */
  restore(id: string): Promise<Version> {
    return this.#memory.restore(id);
  }

  /** The end of HISTORY.md, at most 200,000 bytes, from a paragraph on. */
  readHistory(): Promise<MemoryText> {
    return this.#history.end();
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
        throw unwritable(`${this.historyPath} could not be added to`, error);
      }
    });
  }

  /** `replaces` as well: it names a line from which a secret has been taken out. */
  #redacted({ fact, replaces, ...change }: FactChange): FactChange {
    const named = replaces === undefined ? {} : { replaces: this.#redact(replaces) };
    return { ...change, fact: this.#redact(fact), ...named };
  }

  async #put(next: string, now: MemoryText, why: PutReason): Promise<KeptResult> {
    if (next !== now.text && Buffer.byteLength(next) > LARGEST_MEMORY) {
      throw new AppError('memory-too-large', 'The memory would be larger than 1 MiB. Keep only lasting facts in it.');
    }
    return await this.#memory.put(next, now, why);
  }
}

function hashAfter(change: { readonly after: Uint8Array } | undefined): string | null {
  return change === undefined ? null : hashOfBytes(change.after);
}

/** As a memory is read: without byte-order mark, lines ended by `\n`. */
function textOf(bytes: Uint8Array | null): string {
  return new TextDecoder().decode(bytes ?? new Uint8Array()).replaceAll('\r\n', '\n');
}
