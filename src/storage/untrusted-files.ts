import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import * as z from 'zod';
import type { Clock } from '../util/clock.ts';
import { comesBy, isWithin, namesPath } from './named-paths.ts';
import { AppendFile } from './append-file.ts';
import { sha256 } from './change-log.ts';
import { plainDisk, type Disk } from './disk.ts';
import { readIfExists } from './files.ts';

export interface UntrustedFilesOptions {
  /** Where the marks are kept: lines that are only added to. */
  readonly path: string;
  /** Whatever lies in these folders was written by strangers. They need not exist. */
  readonly folders: readonly string[];
  /** A file that says itself which of its parts come from them. @default there is none */
  readonly log?: { readonly path: string; readonly holdsTheirs: (text: string) => boolean };
  /** The wall clock, by which the file system stamps changes too. */
  readonly clock: Pick<Clock, 'now'>;
  /** @default the real one, and nobody is told what it refuses */
  readonly disk?: Disk;
}

/** A file that was read. */
export interface ReadFile {
  /** Real path. */
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly stat: { readonly ctimeMs: number };
}

/** A file that was read elsewhere. */
export interface HashedFile extends Omit<ReadFile, 'bytes'> {
  /** SHA-256 of its bytes in hex; null: they are nothing but white space. */
  readonly hash: string | null;
}

/** The newest marks and spans are kept; the oldest are forgotten beyond these. */
const MOST_MARKS = 20_000;
const MOST_SPANS = 2_000;
/** Of a tree that is looked through. */
const MOST_ENTRIES = 50_000;
const MOST_TREE_BYTES = 128 * 1024 * 1024;
/** File systems stamp with a clock that is read less often. */
const SLACK_MS = 50;

const lineSchema = z.union([
  /** Strangers had a part in this content: SHA-256 in hex, and the name of the file it was written to. */
  z.object({ v: z.literal(1), hash: z.string(), name: z.string() }),
  /** Whatever changed from then on may be strangers', until the line with the same id and `to`. */
  z.object({ v: z.literal(1), span: z.string(), from: z.number() }),
  z.object({ v: z.literal(1), span: z.string(), to: z.number() }),
]);
type Line = z.infer<typeof lineSchema>;

/** Milliseconds since 1970; `to` infinite while it lasts. */
interface Span {
  readonly from: number;
  to: number;
}

interface Known {
  /** Names by hash. */
  readonly marks: Map<string, string>;
  readonly spans: Map<string, Span>;
  /** Real paths. */
  readonly folders: readonly string[];
  readonly log: string | undefined;
}

/**
 * Which files may hold words of strangers, beyond the conversation that brought them in. What file tools write is
 * known by its content, wherever it is copied or moved to. What commands write cannot be followed, so every file
 * that changed while such a command ran counts, by its change time, which programs cannot set. What commands copy
 * later, outside such a span and with changes, is not known any more.
 */
export class UntrustedFiles {
  readonly #options: UntrustedFilesOptions;
  readonly #disk: Disk;
  readonly #file: AppendFile;
  #loaded: Promise<Known> | undefined;
  #spanCount = 0;

  constructor(options: UntrustedFilesOptions) {
    this.#options = options;
    this.#disk = options.disk ?? plainDisk;
    this.#file = new AppendFile(options.path, this.#disk);
  }

  /** Remembers a content that strangers had a part in; durable when it resolves. Empty ones say nothing. */
  async mark(name: string, bytes: Uint8Array): Promise<void> {
    if (isBlank(bytes)) return;
    const { marks } = await this.#load();
    const hash = sha256(bytes);
    if (marks.has(hash)) return;
    await this.#append({ v: 1, hash, name: basename(name) });
    remember(marks, hash, basename(name), MOST_MARKS);
  }

  /** Whether strangers may have had a part in a file. */
  async holds(file: ReadFile | HashedFile): Promise<boolean> {
    const { path, stat } = file;
    const { marks, spans, folders, log } = await this.#load();
    if (folders.some((folder) => isWithin(folder, path))) return true;
    if ('bytes' in file ? isBlank(file.bytes) : file.hash === null) return false;
    if (path === log && this.#options.log?.holdsTheirs(await textOf(file)) === true) return true;
    if (marks.has(hashOf(file))) return true;
    return [...spans.values()].some(({ from, to }) => from - SLACK_MS <= stat.ctimeMs && stat.ctimeMs <= to + SLACK_MS);
  }

  /** Whether a folder is one of those of strangers, or lies in one. `path` is real. */
  async holdsFolder(path: string): Promise<boolean> {
    return (await this.#load()).folders.some((folder) => isWithin(folder, path));
  }

  /**
   * Whether strangers may have had a part in a file of a tree, by its real path. One that is too large to be looked
   * through counts as theirs.
   */
  async holdsUnder(root: string): Promise<boolean> {
    const { marks, folders } = await this.#load();
    if (folders.some((folder) => isWithin(folder, root))) return true;
    const inside = folders.filter((folder) => isWithin(root, folder));
    if ((await whatIsNotEmpty(inside)).length > 0) return true;
    const waiting = [root];
    let [entries, bytes] = [0, 0];
    for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
      for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
        const path = join(folder, entry.name);
        entries += 1;
        if (entries > MOST_ENTRIES) return true;
        if (entry.isDirectory()) {
          // Its names are the hashes of what it holds: git runs nothing of it.
          if (!(entry.name === 'objects' && basename(folder) === '.git')) waiting.push(path);
          continue;
        }
        const found = await stat(path).catch(() => null);
        if (found?.isFile() !== true) continue;
        // Where nothing is known by its content, the times tell all.
        const isRead = marks.size > 0;
        bytes += isRead ? found.size : 0;
        if (bytes > MOST_TREE_BYTES) return true;
        const real = entry.isSymbolicLink() ? await realFolder(path) : path;
        const hash = isRead ? await contentHash(path) : '';
        if (await this.holds({ path: real, stat: found, hash })) return true;
      }
    }
    return false;
  }

  /** Whether one of these is the name of a file that strangers had a part in. */
  async knowsName(names: readonly string[]): Promise<boolean> {
    const known = new Set((await this.#load()).marks.values());
    return names.some((name) => known.has(name));
  }

  /** Whether a command that runs in `cwd` names a file or folder of strangers. It may reach one without naming it. */
  async isNamedIn(command: string, cwd?: string): Promise<boolean> {
    const { folders: real, log } = await this.#load();
    const folders = [...this.#options.folders, ...real];
    if (folders.some((folder) => command.includes(folder) || command.includes(`${basename(folder)}/`))) return true;
    if (cwd !== undefined && namesPath(command, cwd, folders)) return true;
    if (cwd !== undefined && comesBy(command, cwd, await whatIsNotEmpty(folders))) return true;
    if (await this.knowsName(command.split(/[\s'"`;|&<>()$={}/,:]+/u))) return true;
    if (
      log === undefined ||
      !(command.includes(basename(log)) || (cwd !== undefined && namesPath(command, cwd, [log])))
    )
      return false;
    return this.#options.log?.holdsTheirs((await readIfExists(log)) ?? '') === true;
  }

  /** Whatever changes on the disk while `work` runs counts as strangers', also when the process dies meanwhile. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    const { spans } = await this.#load();
    const { clock } = this.#options;
    this.#spanCount += 1;
    const from = clock.now();
    const id = `${from}.${this.#spanCount}`;
    const span: Span = { from, to: Number.POSITIVE_INFINITY };
    await this.#append({ v: 1, span: id, from });
    remember(spans, id, span, MOST_SPANS);
    try {
      return await work();
    } finally {
      span.to = clock.now();
      await this.#append({ v: 1, span: id, to: span.to });
    }
  }

  #load(): Promise<Known> {
    this.#loaded ??= this.#read().catch((error: unknown) => {
      this.#loaded = undefined;
      throw error;
    });
    return this.#loaded;
  }

  async #read(): Promise<Known> {
    const { path, clock } = this.#options;
    const marks = new Map<string, string>();
    const spans = new Map<string, Span>();
    const text = (await readIfExists(path)) ?? '';
    let lines = 0;
    for (const line of text.split('\n').flatMap(parseLine)) {
      lines += 1;
      if ('hash' in line) remember(marks, line.hash, line.name, MOST_MARKS);
      else if ('from' in line) remember(spans, line.span, { from: line.from, to: Infinity }, MOST_SPANS);
      else {
        const span = spans.get(line.span);
        if (span !== undefined) span.to = line.to;
      }
    }
    // A process that died in a span took its commands with it, at the latest by now.
    for (const span of spans.values()) if (span.to === Infinity) span.to = clock.now();
    await this.#disk.ensure(dirname(path));
    if (lines > 2 * (MOST_MARKS + MOST_SPANS)) await this.#disk.replace(path, render(marks, spans));
    const folders = await Promise.all(this.#options.folders.map(realFolder));
    const log = this.#options.log === undefined ? undefined : await realFolder(this.#options.log.path);
    return { marks, spans, folders, log };
  }

  async #append(line: Line): Promise<void> {
    try {
      await this.#file.append(Buffer.from(`${JSON.stringify(line)}\n`));
    } finally {
      await this.#file.rest();
    }
  }
}

async function whatIsNotEmpty(folders: readonly string[]): Promise<readonly string[]> {
  const names = await Promise.all(folders.map((folder) => readdir(folder).catch(() => [])));
  return folders.filter((_, at) => names[at]?.length !== 0);
}

/** As `HashedFile` has it; what cannot be read is as good as empty. */
async function contentHash(path: string): Promise<string | null> {
  const bytes = await readFile(path).catch(() => null);
  return bytes === null || isBlank(bytes) ? null : sha256(bytes);
}

function remember<T>(map: Map<string, T>, key: string, value: T, most: number): void {
  map.delete(key);
  map.set(key, value);
  for (const [oldest] of map) {
    if (map.size <= most) return;
    map.delete(oldest);
  }
}

function render(marks: ReadonlyMap<string, string>, spans: ReadonlyMap<string, Span>): string {
  const lines: Line[] = [
    ...[...marks].map(([hash, name]) => ({ v: 1 as const, hash, name })),
    ...[...spans].flatMap(([span, { from, to }]): Line[] => [
      { v: 1, span, from },
      { v: 1, span, to },
    ]),
  ];
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}

function parseLine(line: string): readonly Line[] {
  if (line === '') return [];
  try {
    const { data } = lineSchema.safeParse(JSON.parse(line));
    return data === undefined ? [] : [data];
  } catch {
    return [];
  }
}

/** The folder above it exists. */
async function realFolder(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch {
    return join(await realpath(dirname(path)).catch(() => dirname(path)), basename(path));
  }
}

function hashOf(file: ReadFile | HashedFile): string {
  return 'bytes' in file ? sha256(file.bytes) : (file.hash ?? '');
}

async function textOf(file: ReadFile | HashedFile): Promise<string> {
  return 'bytes' in file ? Buffer.from(file.bytes).toString('utf8') : ((await readIfExists(file.path)) ?? '');
}

function isBlank(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte <= 0x20);
}
