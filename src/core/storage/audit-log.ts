import { rename, rm, stat } from 'node:fs/promises';
import * as z from 'zod';
import type { Clock } from '../util/clock.ts';
import { errorCode, errorMessage } from '../util/errors.ts';
import type { Logger } from '../util/log.ts';
import { cut } from '../util/text.ts';
import { AppendFile, type OpenAppend } from './append-file.ts';
import { sha256 } from './change-log.ts';
import { plainDisk, type Disk } from './disk.ts';
import { readLinesBackwards } from './read-lines.ts';

/** Bytes after which a new file begins; older ones are `audit.jsonl.1` to `.6`. */
const LARGEST_FILE_BYTES = 20_000_000;
const OLDER_FILES = 6;
/** Characters that are kept of each text of an entry. */
const LONGEST_TEXT = 8_000;

export const auditEntry = z.object({
  /** ISO 8601, UTC. */
  at: z.string(),
  turn: z.string().nullable(),
  session: z.string().nullable(),
  /** `channel:id` of the person it was done for; null: the assistant acted on its own. */
  who: z.string().nullable(),
  role: z.string(),
  origin: z.string(),
  /** The action that was asked for, in one line. */
  what: z.string(),
  /** `allowed`: without a question; `approved` or `declined`: by a person who was asked; `refused`: by a rule. */
  decision: z.enum(['allowed', 'approved', 'declined', 'refused']),
  reason: z.string().nullable(),
  /** Who said yes or no, and how. */
  approval: z.string().nullable(),
});

/** One line of the audit log: an action, who it was for, and what was decided about it. */
export type AuditEntry = Readonly<z.infer<typeof auditEntry>>;
export type AuditDraft = Omit<AuditEntry, 'at'>;

export interface AuditLogOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Removes configured secrets from a text. Nothing else is removed: the log must show what really ran. */
  readonly mask: (text: string) => string;
  /** @default the real disk, without reporting its failures */
  readonly disk?: Pick<Disk, 'open'>;
}

/**
 * `audit.jsonl`: one line for each action that was allowed, approved, declined or refused. A line is written before its
 * action begins, so it survives the end of the process; a power loss may take the newest lines. A failed write is
 * logged and stops nothing.
 */
export class AuditLog implements AsyncDisposable {
  readonly #path: string;
  readonly #options: AuditLogOptions;
  readonly #file: AppendFile;
  #last: Promise<void> = Promise.resolve();

  constructor(path: string, options: AuditLogOptions) {
    this.#path = path;
    this.#options = options;
    this.#file = new AppendFile(path, { open: unsynced((options.disk ?? plainDisk).open) });
  }

  /** Appends an entry, stamped with the current time. Never throws. */
  readonly record = (draft: AuditDraft): Promise<void> => {
    this.#last = this.#last.then(() => this.#append(draft));
    return this.#last;
  };

  /** The newest `count` entries for which `matches` is true, newest first. */
  async newest(count: number, matches: (entry: AuditEntry) => boolean): Promise<readonly AuditEntry[]> {
    const found: AuditEntry[] = [];
    for (let n = 0; n <= OLDER_FILES; n += 1) {
      try {
        for await (const { bytes } of readLinesBackwards(this.#named(n))) {
          const entry = parsed(bytes);
          if (entry === undefined || !matches(entry)) continue;
          if (found.push(entry) === count) return found;
        }
      } catch (error) {
        if (errorCode(error) !== 'ENOENT') throw error;
      }
    }
    return found;
  }

  /**
   * Removes older files whose last line was written before `before`, ms since 1970; returns how many. The current file
   * stays.
   */
  async prune(before: number): Promise<number> {
    let removed = 0;
    const work = this.#last.then(async () => {
      for (let n = 1; n <= OLDER_FILES; n += 1) {
        const found = await stat(this.#named(n)).catch(() => undefined);
        if (found === undefined || found.mtimeMs >= before) continue;
        await rm(this.#named(n), { force: true });
        removed += 1;
      }
    });
    this.#last = work.catch(() => {});
    await work;
    return removed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#last;
    await this.#file.close();
  }

  async #append(draft: AuditDraft): Promise<void> {
    const { clock, log, mask } = this.#options;
    const shown = (text: string | null): string | null => (text === null ? null : bounded(mask(text)));
    const entry: AuditEntry = {
      at: new Date(clock.now()).toISOString(),
      ...draft,
      what: shown(draft.what) ?? '',
      reason: shown(draft.reason),
      approval: shown(draft.approval),
    };
    try {
      if ((this.#file.size ?? 0) >= LARGEST_FILE_BYTES) await this.#rotate();
      await this.#file.append(Buffer.from(`${JSON.stringify(entry)}\n`));
    } catch (error) {
      log.error('audit: write failed', { reason: errorMessage(error), what: entry.what });
    }
  }

  async #rotate(): Promise<void> {
    await this.#file.rest();
    for (let n = OLDER_FILES - 1; n >= 0; n -= 1) {
      await rename(this.#named(n), this.#named(n + 1)).catch((error: unknown) => {
        if (errorCode(error) !== 'ENOENT') throw error;
      });
    }
  }

  #named(n: number): string {
    return n === 0 ? this.#path : `${this.#path}.${n}`;
  }
}

/** Cuts a long text; its full length and hash are added, so that the original can be recognized. */
function bounded(text: string): string {
  if (text.length <= LONGEST_TEXT) return text;
  return `${cut(text, LONGEST_TEXT)}… (${text.length} characters, SHA-256 ${sha256(Buffer.from(text))})`;
}

function parsed(bytes: Buffer): AuditEntry | undefined {
  try {
    return auditEntry.safeParse(JSON.parse(bytes.toString())).data;
  } catch {
    return undefined;
  }
}

function unsynced(open: OpenAppend): OpenAppend {
  return async (path) => ({ ...(await open(path)), datasync: async () => {} });
}
