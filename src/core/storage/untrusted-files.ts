import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import * as z from 'zod';
import type { Clock } from '../util/clock.ts';
import { walksInto, isWithin, namesPath } from './named-paths.ts';
import { AppendFile } from './append-file.ts';
import { sha256 } from './change-log.ts';
import { plainDisk, type Disk } from './disk.ts';
import { readIfExists } from './files.ts';

export interface UntrustedFilesOptions {
  /** The append-only file of the marks. */
  readonly path: string;
  /** Folders whose files are all untrusted. They need not exist. */
  readonly folders: readonly string[];
  /** A file whose text says itself whether it holds untrusted content. @default there is none */
  readonly log?: { readonly path: string; readonly holdsUntrusted: (text: string) => boolean };
  /** The wall clock: it is compared with the change times of files. */
  readonly clock: Pick<Clock, 'now'>;
  /** @default the real disk, without reporting its failures */
  readonly disk?: Disk;
}

/** A file with its content. */
export interface ReadFile {
  /** Real path. */
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly stat: { readonly ctimeMs: number };
}

/** A file with only the hash of its content. */
export interface HashedFile extends Omit<ReadFile, 'bytes'> {
  /** SHA-256 of its bytes in hex; null: the file is empty or holds only white space. */
  readonly hash: string | null;
}

/** Limits of marks and spans; beyond them the oldest are forgotten. */
const MOST_MARKS = 20_000;
const MOST_SPANS = 2_000;
/** Limits for searching a folder tree. */
const MOST_ENTRIES = 50_000;
const MOST_TREE_BYTES = 128 * 1024 * 1024;
/** Tolerance in ms: file systems stamp with a coarser clock. */
const SLACK_MS = 50;

const lineSchema = z.union([
  /** Untrusted content: SHA-256 in hex, and the name of the file it was written to. */
  z.object({ v: z.literal(1), hash: z.string(), name: z.string() }),
  /** Files that change from then on may hold untrusted content, until the line with the same id and `to`. */
  z.object({ v: z.literal(1), span: z.string(), from: z.number() }),
  z.object({ v: z.literal(1), span: z.string(), to: z.number() }),
]);
type Line = z.infer<typeof lineSchema>;

/** A time in which all changed files count as untrusted. Ms since 1970; `to` is infinite while it lasts. */
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
 * Remembers which files may hold untrusted content, beyond the conversation that brought it in. A file that a file tool
 * wrote is known by the hash of its content, wherever it is copied or moved. What a command writes cannot be followed,
 * so every file that changed while such a command ran counts, by its change time (ctime), which programs cannot set. A
 * copy that a later command makes with changes is no longer recognized.
 */
export class UntrustedFiles {
  readonly #options: UntrustedFilesOptions;
  readonly #disk: Disk;
  readonly #file: AppendFile;
  #loaded: Promise<Known> | undefined;
  #spanCount = 0;
  #more: () => Promise<readonly string[]> = async () => [];

  constructor(options: UntrustedFilesOptions) {
    this.#options = options;
    this.#disk = options.disk ?? plainDisk;
    this.#file = new AppendFile(options.path, this.#disk);
  }

  /** Adds a function that returns more untrusted folders, by their real paths. It is called at each lookup. */
  alsoIn(folders: () => Promise<readonly string[]>): void {
    this.#more = folders;
  }

  /** Remembers content as untrusted; durable when it resolves. Blank content is ignored. */
  async mark(name: string, bytes: Uint8Array): Promise<void> {
    if (isBlank(bytes)) return;
    const { marks } = await this.#load();
    const hash = sha256(bytes);
    if (marks.has(hash)) return;
    await this.#append({ v: 1, hash, name: basename(name) });
    remember(marks, hash, basename(name), MOST_MARKS);
  }

  /** Whether a file may hold untrusted content. */
  async holds(file: ReadFile | HashedFile): Promise<boolean> {
    return (await this.#holds(file)) || (await this.#more()).some((folder) => isWithin(folder, file.path));
  }

  async #holds(file: ReadFile | HashedFile): Promise<boolean> {
    const { path, stat } = file;
    const { marks, spans, folders, log } = await this.#load();
    if (folders.some((folder) => isWithin(folder, path))) return true;
    if ('bytes' in file ? isBlank(file.bytes) : file.hash === null) return false;
    if (path === log && this.#options.log?.holdsUntrusted(await textOf(file)) === true) return true;
    if (marks.has(hashOf(file))) return true;
    return [...spans.values()].some(({ from, to }) => from - SLACK_MS <= stat.ctimeMs && stat.ctimeMs <= to + SLACK_MS);
  }

  /** Whether a folder is an untrusted one or lies in one. `path` is a real path. */
  async holdsFolder(path: string): Promise<boolean> {
    const { folders } = await this.#load();
    return [...folders, ...(await this.#more())].some((folder) => isWithin(folder, path));
  }

  /**
   * Whether any file below `root`, a real path, may hold untrusted content. True for a tree that is too large to be
   * searched.
   */
  async holdsUnder(root: string): Promise<boolean> {
    const { marks, folders } = await this.#load();
    const more = await this.#more();
    if ([...folders, ...more].some((folder) => isWithin(folder, root))) return true;
    if (more.some((folder) => isWithin(root, folder))) return true;
    const inside = folders.filter((folder) => isWithin(root, folder));
    if ((await nonEmptyFolders(inside)).length > 0) return true;
    const waiting = [root];
    let [entries, bytes] = [0, 0];
    for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
      for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
        const path = join(folder, entry.name);
        entries += 1;
        if (entries > MOST_ENTRIES) return true;
        if (entry.isDirectory()) {
          // Objects of git are compressed contents: git runs nothing in there.
          if (!(entry.name === 'objects' && basename(folder) === '.git')) waiting.push(path);
          continue;
        }
        const found = await stat(path).catch(() => null);
        if (found?.isFile() !== true) continue;
        // Without marks the change times decide, and no content has to be read.
        const isRead = marks.size > 0;
        bytes += isRead ? found.size : 0;
        if (bytes > MOST_TREE_BYTES) return true;
        const real = entry.isSymbolicLink() ? await realFolder(path) : path;
        const hash = isRead ? await contentHash(path) : '';
        if (await this.#holds({ path: real, stat: found, hash })) return true;
      }
    }
    return false;
  }

  /** Whether untrusted content was written to a file with one of these names. */
  async knowsName(names: readonly string[]): Promise<boolean> {
    const known = new Set((await this.#load()).marks.values());
    return names.some((name) => known.has(name));
  }

  /**
   * Whether a command that runs in `cwd` names an untrusted file or folder. It may still reach one without naming it.
   */
  async isNamedIn(command: string, cwd?: string): Promise<boolean> {
    const { folders: real, log } = await this.#load();
    const folders = [...this.#options.folders, ...real];
    if (folders.some((folder) => command.includes(folder) || command.includes(`${basename(folder)}/`))) return true;
    if (cwd !== undefined && namesPath(command, cwd, folders)) return true;
    if (cwd !== undefined && walksInto(command, cwd, await nonEmptyFolders(folders))) return true;
    const more = cwd === undefined ? [] : await this.#more();
    if (cwd !== undefined && (namesPath(command, cwd, more) || walksInto(command, cwd, more))) return true;
    if (await this.knowsName(command.split(/[\s'"`;|&<>()$={}/,:]+/u))) return true;
    if (
      log === undefined ||
      !(command.includes(basename(log)) || (cwd !== undefined && namesPath(command, cwd, [log])))
    )
      return false;
    return this.#options.log?.holdsUntrusted((await readIfExists(log)) ?? '') === true;
  }

  /** All files that change while `work` runs count as untrusted, also if the process dies meanwhile. */
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
    // The commands of a process that died in a span have ended too, at the latest now.
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

async function nonEmptyFolders(folders: readonly string[]): Promise<readonly string[]> {
  const names = await Promise.all(folders.map((folder) => readdir(folder).catch(() => [])));
  return folders.filter((_, at) => names[at]?.length !== 0);
}

/** The hash as in `HashedFile`; a file that cannot be read counts as empty. */
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

/** The real path; if it does not exist, its name below the real path of its folder. */
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
