import { createHash } from 'node:crypto';
import { readFile, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import type { Clock } from '../util/clock.ts';
import { errorCode } from '../util/errors.ts';
import { AppendFile } from './append-file.ts';
import { plainDisk, type Disk } from './disk.ts';
import { namesIn, readIfExists } from './files.ts';

/** Bytes; larger files are recorded without a copy. */
export const LARGEST_COPY = 50 * 1024 * 1024;
/** How long copies and records are kept. */
const KEPT_MS = 90 * 86_400_000;
/** `prune` removes the oldest copies beyond this many bytes in total. */
const MOST_COPIES_BYTES = 2 * 1024 * 1024 * 1024;

/** A change that a tool call is about to make to a file. */
export interface FileChange {
  readonly sessionKey: string;
  readonly turnId: string;
  readonly callId: string;
  /** Absolute, without links. */
  readonly path: string;
  /** The file before the change, `bytes` null when it is larger than `LARGEST_COPY`; null: there is no file. */
  readonly before: {
    readonly bytes: Uint8Array | null;
    readonly mode: number;
    /** Whose text it may hold, as it was marked; null: not marked. @default not known */
    readonly author?: string | null;
  } | null;
  /** The new content; null: the file is removed. */
  readonly after: Uint8Array | null;
  /** Keeps a copy of the new content too, so that a part of the change can be taken back. @default false */
  readonly keepAfter?: boolean;
  /** Folders that the change will make, the innermost first. @default none */
  readonly folders?: readonly string[];
}

/** A change that a tool call is about to make to a scheduled job. */
export interface JobChange {
  readonly sessionKey: string;
  readonly turnId: string;
  readonly callId: string;
  /** Id of the job. */
  readonly job: string;
  /** The job before and after the change, in the words of the schedule; null: there is none. */
  readonly before: string | null;
  readonly after: string | null;
}

const lineSchema = z.object({
  v: z.literal(1),
  /** Milliseconds since 1970. */
  at: z.number(),
  session: z.string(),
  call: z.string(),
  path: z.string(),
  /** SHA-256 in hex; a null hash: no copy was kept. */
  before: z
    .object({ hash: z.string().nullable(), mode: z.number(), author: z.string().nullable().exactOptional() })
    .nullable(),
  after: z.string().nullable(),
  folders: z.array(z.string()).exactOptional(),
});

const jobLineSchema = z.object({
  v: z.literal(1),
  at: z.number(),
  session: z.string(),
  call: z.string(),
  job: z.string(),
  before: z.string().nullable(),
  after: z.string().nullable(),
});

/** A recorded change. It was recorded before it was made, so only the file shows whether it happened. */
export type RecordedChange = Omit<z.infer<typeof lineSchema>, 'v' | 'session'>;

/** A recorded change of a job, likewise. */
export type RecordedJob = Omit<z.infer<typeof jobLineSchema>, 'v' | 'session'>;

/**
 * The files and jobs that tools changed, so that a change can be undone: copies of the old contents by hash, and an append-only
 * file of changes for each turn. `prune` removes what is older than 90 days, and the oldest copies beyond 2 GB.
 */
export class ChangeLog {
  readonly #turns: string;
  readonly #copies: string;
  readonly #clock: Clock;
  readonly #disk: Disk;
  readonly #onChange: ((path: string) => void) | undefined;
  readonly #recording = new Set<Promise<void>>();
  #pruning: Promise<void> | undefined;

  /** `disk`: @default the real disk, without reporting its failures. `onChange` is told of the absolute path of each change. */
  constructor(options: {
    readonly folder: string;
    readonly clock: Clock;
    readonly disk?: Disk;
    readonly onChange?: (path: string) => void;
  }) {
    this.#onChange = options.onChange;
    this.#turns = join(options.folder, 'turns');
    this.#copies = join(options.folder, 'copies');
    this.#clock = options.clock;
    this.#disk = options.disk ?? plainDisk;
  }

  /**
   * Records a change; the file may be changed when this resolves, because the record is durable then. Changes of one
   * turn must be recorded one after another. Rejects with the error of the disk.
   */
  recordChange(change: FileChange): Promise<void> {
    return this.#recorded(() => this.#record(change));
  }

  /** As `recordChange`, for a job. */
  recordJob({ sessionKey, turnId, callId, job, before, after }: JobChange): Promise<void> {
    const line = { v: 1, at: this.#clock.now(), session: sessionKey, call: callId, job, before, after } as const;
    return this.#recorded(async () => {
      await this.#disk.ensure(this.#turns);
      await this.#append(turnId, line);
    });
  }

  async #recorded(record: () => Promise<void>): Promise<void> {
    while (this.#pruning !== undefined) await this.#pruning;
    const work = record();
    const settled = work.catch(() => {}).then(() => void this.#recording.delete(settled));
    this.#recording.add(settled);
    await work;
  }

  /** The recorded changes of a turn, oldest first. Damaged lines are left out. */
  of(sessionKey: string, turnId: string): Promise<readonly RecordedChange[]> {
    return this.#lines(lineSchema, sessionKey, turnId);
  }

  /** The recorded changes of jobs, likewise. */
  jobsOf(sessionKey: string, turnId: string): Promise<readonly RecordedJob[]> {
    return this.#lines(jobLineSchema, sessionKey, turnId);
  }

  async #lines<Line extends { readonly v: 1; readonly session: string }>(
    schema: z.ZodType<Line>,
    sessionKey: string,
    turnId: string,
  ): Promise<readonly Omit<Line, 'v' | 'session'>[]> {
    const text = (await readIfExists(this.#turnFile(turnId))) ?? '';
    return text.split('\n').flatMap((line) => {
      const parsed = parseLine(line, schema);
      if (parsed === undefined || parsed.session !== sessionKey) return [];
      const { v: _, session: __, ...change } = parsed;
      return [change];
    });
  }

  /** The copy with this SHA-256 in hex; undefined when it is gone or damaged. */
  async copy(hash: string): Promise<Buffer | undefined> {
    if (!/^[0-9a-f]{64}$/u.test(hash)) return undefined;
    try {
      const bytes = await readFile(join(this.#copies, hash));
      return sha256(bytes) === hash ? bytes : undefined;
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return undefined;
      throw error;
    }
  }

  /** Removes old records and copies, see above; `now` in ms since 1970. New records wait until it is done. */
  async prune(now: number): Promise<void> {
    while (this.#pruning !== undefined) await this.#pruning;
    const work = this.#prune(now);
    this.#pruning = work.catch(() => {}).then(() => void (this.#pruning = undefined));
    await work;
  }

  async #prune(now: number): Promise<void> {
    await Promise.all(this.#recording);
    await removeOldest(this.#turns, { olderThan: now - KEPT_MS });
    await removeOldest(this.#copies, { olderThan: now - KEPT_MS, mostBytes: MOST_COPIES_BYTES });
  }

  async #record(change: FileChange): Promise<void> {
    const { sessionKey, turnId, callId, path, before, after, keepAfter = false, folders = [] } = change;
    await Promise.all([this.#disk.ensure(this.#turns), this.#disk.ensure(this.#copies)]);
    const bytes = before?.bytes ?? null;
    const hash = bytes === null ? null : sha256(bytes);
    const line: z.infer<typeof lineSchema> = {
      v: 1,
      at: this.#clock.now(),
      session: sessionKey,
      call: callId,
      path,
      before:
        before === null
          ? null
          : { hash, mode: before.mode, ...(before.author === undefined ? {} : { author: before.author }) },
      after: after === null ? null : sha256(after),
      ...(folders.length === 0 ? {} : { folders: [...folders] }),
    };
    if (bytes !== null && hash !== null) await this.#keep(hash, bytes);
    if (keepAfter && after !== null) await this.#keep(sha256(after), after);
    await this.#append(turnId, line);
    this.#onChange?.(path);
  }

  async #append(turnId: string, line: object): Promise<void> {
    const turnFile = this.#turnFile(turnId);
    const file = new AppendFile(turnFile, this.#disk);
    try {
      await file.append(Buffer.from(`${JSON.stringify(line)}\n`));
    } finally {
      await file.close();
    }
    await this.#touch(turnFile);
  }

  /** Stores a copy; one that exists already counts as new again. */
  async #keep(hash: string, bytes: Uint8Array): Promise<void> {
    const path = join(this.#copies, hash);
    if ((await this.copy(hash)) === undefined) await this.#disk.replace(path, bytes);
    await this.#touch(path);
  }

  /** Sets the time by which `prune` judges the age of a file. */
  async #touch(path: string): Promise<void> {
    const now = new Date(this.#clock.now());
    await utimes(path, now, now);
  }

  #turnFile(turnId: string): string {
    const name = /^[\w-]{1,64}$/u.test(turnId) ? turnId : sha256(Buffer.from(turnId));
    return join(this.#turns, `${name}.jsonl`);
  }
}

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function parseLine<Line>(line: string, schema: z.ZodType<Line>): Line | undefined {
  if (line === '') return undefined;
  try {
    return schema.safeParse(JSON.parse(line)).data;
  } catch {
    return undefined;
  }
}

async function removeOldest(
  folder: string,
  { olderThan, mostBytes = Number.POSITIVE_INFINITY }: { olderThan: number; mostBytes?: number },
): Promise<void> {
  const names = await namesIn(folder);
  const files: { path: string; size: number; at: number }[] = [];
  for (const name of names) {
    const path = join(folder, name);
    const { size, mtimeMs } = await stat(path);
    files.push({ path, size, at: mtimeMs });
  }
  let total = 0;
  for (const { path, size, at } of files.toSorted((a, b) => b.at - a.at)) {
    total += size;
    if (at < olderThan || total > mostBytes) await rm(path, { force: true });
  }
}
