import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import type { Disk } from '../../storage/disk.ts';
import { namesIn, readIfExists } from '../../storage/files.ts';
import { assistantCommand } from '../../util/assistant-command.ts';
import type { Clock } from '../../util/clock.ts';
import { AppError } from '../../util/errors.ts';
import { oneLine } from '../../util/text.ts';

/** `kept`: what the file held before it was replaced. `proposed`: a text that was refused and waits for a person. */
export type VersionKind = 'kept' | 'proposed';

export interface Version {
  /** A UTC time to the millisecond, e.g. `20261121T051033123Z`; newer ones sort after older ones. */
  readonly id: string;
  /** When it was kept, milliseconds since 1970. */
  readonly at: number;
  /** Why it was replaced; of a proposal, what it was proposed for. */
  readonly reason: string;
  /** Bytes of the text. */
  readonly size: number;
  readonly kind: VersionKind;
}

interface Kept {
  readonly version: Version;
  readonly text: string;
}

/** How many of each kind are kept. */
const KEEP = { kept: 20, proposed: 5 } as const;
const LONGEST_REASON = 200;
const FILE = /^\d{8}T\d{9}Z\.md$/u;
/** Left behind by a process that died while it wrote. */
const LEFTOVER = /^\.\d{8}T\d{9}Z\.md\..*\.tmp$/u;

const headerSchema = z.object({ at: z.number(), reason: z.string(), kind: z.enum(['kept', 'proposed']) });

/**
 * Earlier texts of one file, each a file of its own: a header in an HTML comment, then the text. The last 20 that were
 * replaced are kept, and the last 5 proposals. One writer at a time.
 */
export class Versions {
  readonly #folder: string;
  readonly #clock: Clock;
  readonly #disk: Disk;
  readonly #name: string | undefined;

  /** `name`: what they are versions of. @default the memory */
  constructor(
    folder: string,
    { clock, disk, name }: { readonly clock: Clock; readonly disk: Disk; readonly name?: string },
  ) {
    this.#folder = folder;
    this.#name = name;
    this.#clock = clock;
    this.#disk = disk;
  }

  /** Keeps a text durably; one that is the newest of its kind already is not kept again. */
  async keep(text: string, kind: VersionKind, reason: string): Promise<Version> {
    const ids = await this.#ids();
    const newest = await this.#newest(ids, kind);
    if (newest?.text === text) return newest.version;
    const at = this.#clock.now();
    const id = idAfter(ids[0], at);
    const version = { id, at, reason: oneLine(reason, LONGEST_REASON), size: Buffer.byteLength(text), kind };
    await this.#disk.ensure(this.#folder);
    await this.#disk.replace(this.#path(id), header(version) + text);
    return version;
  }

  /** Newest first. */
  async list(): Promise<readonly Version[]> {
    const all = await Promise.all((await this.#ids()).map((id) => this.#read(id)));
    return all.flatMap((found) => (found === undefined ? [] : [found.version]));
  }

  /** Throws `memory-version` for an id that is not there. */
  async read(id: string): Promise<Kept> {
    const found = FILE.test(`${id}.md`) ? await this.#read(id) : undefined;
    if (found !== undefined) return found;
    const where = this.#name === undefined ? ` To see those that are kept, run: ${assistantCommand('memory log')}` : '';
    throw new AppError(
      'memory-version',
      `There is no version ${JSON.stringify(oneLine(id, 40))} of ${this.#name ?? 'the memory'}.${where}`,
    );
  }

  /** Removes what is beyond the number to keep. */
  async prune(): Promise<void> {
    const counts = { kept: 0, proposed: 0 };
    for (const { id, kind } of await this.list()) {
      counts[kind] += 1;
      if (counts[kind] > KEEP[kind]) await rm(this.#path(id), { force: true });
    }
    const leftovers = (await namesIn(this.#folder)).filter((name) => LEFTOVER.test(name));
    for (const name of leftovers) await rm(join(this.#folder, name), { force: true });
  }

  async #newest(ids: readonly string[], kind: VersionKind): Promise<Kept | undefined> {
    for (const id of ids) {
      const found = await this.#read(id);
      if (found?.version.kind === kind) return found;
    }
    return undefined;
  }

  async #read(id: string): Promise<Kept | undefined> {
    const content = await readIfExists(this.#path(id));
    if (content === undefined) return undefined;
    const facts = parseHeader(content);
    const text = facts === undefined ? content : content.slice(content.indexOf('\n') + 1);
    const { at, reason, kind } = facts ?? { at: timeOf(id), reason: 'unknown', kind: 'kept' as const };
    return { version: { id, at, reason, size: Buffer.byteLength(text), kind }, text };
  }

  /** Newest first. */
  async #ids(): Promise<readonly string[]> {
    const names = (await namesIn(this.#folder)).filter((name) => FILE.test(name));
    return names.map((name) => name.slice(0, -'.md'.length)).sort((a, b) => (a < b ? 1 : -1));
  }

  #path(id: string): string {
    return join(this.#folder, `${id}.md`);
  }
}

/** One line; nothing in it can end the comment. */
function header({ at, reason, kind }: Version): string {
  return `<!-- ${JSON.stringify({ at, reason, kind }).replaceAll('>', '\\u003e')} -->\n`;
}

function parseHeader(content: string): z.infer<typeof headerSchema> | undefined {
  const json = /^<!-- (\{.*\}) -->\n/u.exec(content)?.[1];
  if (json === undefined) return undefined;
  try {
    const parsed = headerSchema.safeParse(JSON.parse(json));
    return parsed.success ? parsed.data : undefined;
  } catch {
    return undefined;
  }
}

/** Greater than `newest`, also when the clock went back or two versions fall into one millisecond. */
function idAfter(newest: string | undefined, now: number): string {
  const time = newest === undefined ? now : Math.max(now, timeOf(newest) + 1);
  return new Date(time).toISOString().replace(/[-:.]/gu, '');
}

function timeOf(id: string): number {
  const time = id.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})Z$/u, '$1-$2-$3T$4:$5:$6.$7Z');
  return Date.parse(time) || 0;
}
