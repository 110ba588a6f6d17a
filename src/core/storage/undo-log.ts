import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import type { Disk } from './disk.ts';
import { namesIn, readIfExists } from './files.ts';

/** How long records are kept. */
const KEPT_MS = 90 * 86_400_000;

const itemSchema = z.object({
  kind: z.enum(['file', 'memory', 'job']),
  /** A path, a fact or the id of a job. */
  name: z.string(),
  /** `partly`: somebody else had changed it between two of the changes. `as-before`: a command's change was reverted. */
  outcome: z.enum(['restored', 'removed', 'as-before', 'partly', 'left']),
  /** Why it was left or only partly restored; empty otherwise. */
  reason: z.string(),
});

const recordSchema = z.object({
  v: z.literal(1),
  id: z.string(),
  /** Milliseconds since 1970. */
  at: z.number(),
  state: z.enum(['begun', 'done']),
  session: z.string(),
  /** What is taken back, oldest first. */
  exchanges: z.array(
    z.object({
      turn: z.string(),
      /** What people said in it. */
      said: z.array(z.string()),
      /** All turns whose changes belong to it, oldest first. */
      turns: z.array(z.object({ session: z.string(), turn: z.string() })),
    }),
  ),
  items: z.array(itemSchema),
  /** Files that changed while commands ran. */
  byCommands: z.array(z.string()),
  /** Messages that were sent, and calls that cannot be taken back. */
  sent: z.array(z.string()),
  lasting: z.array(z.string()),
});

/** What becomes of one thing that a turn changed. */
export type UndoItem = z.infer<typeof itemSchema>;

/** A turn or several that are taken back: what for, and what becomes of what they changed. */
export type UndoRecord = z.infer<typeof recordSchema>;

/**
 * What was taken back, a file each. A record is durable before the first thing is restored, so that a later start can
 * finish what the end of the process cut off. Records older than 90 days are removed.
 */
export class UndoLog {
  readonly #folder: string;
  readonly #disk: Pick<Disk, 'ensure' | 'replace'>;

  constructor({ folder, disk }: { readonly folder: string; readonly disk: Pick<Disk, 'ensure' | 'replace'> }) {
    this.#folder = folder;
    this.#disk = disk;
  }

  /** Writes a record, or replaces the one with its id; durable when it resolves. */
  async put(record: UndoRecord): Promise<void> {
    await this.#disk.ensure(this.#folder);
    await this.#disk.replace(this.#path(record.id), `${JSON.stringify(record)}\n`);
  }

  /** The record with this id; undefined: there is none, or it is damaged. */
  async get(id: string): Promise<UndoRecord | undefined> {
    const text = await readIfExists(this.#path(id));
    try {
      return text === undefined ? undefined : recordSchema.safeParse(JSON.parse(text)).data;
    } catch {
      return undefined;
    }
  }

  /** All records, in no particular order. */
  async all(): Promise<readonly UndoRecord[]> {
    const names = (await namesIn(this.#folder)).filter((name) => /^[\w-]+\.json$/u.test(name));
    const records = await Promise.all(names.map((name) => this.get(name.slice(0, -'.json'.length))));
    return records.filter((record) => record !== undefined);
  }

  /** Removes old records; `now` in ms since 1970. */
  async prune(now: number): Promise<void> {
    for (const name of await namesIn(this.#folder)) {
      const path = join(this.#folder, name);
      if ((await stat(path)).mtimeMs < now - KEPT_MS) await rm(path, { force: true });
    }
  }

  #path(id: string): string {
    return join(this.#folder, `${id.replaceAll(/[^\w-]/gu, '_')}.json`);
  }
}
