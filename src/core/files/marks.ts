import { lstatSync, realpathSync } from 'node:fs';
import { lstat, opendir } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { Role } from '../bus/messages.ts';
import { atLeast } from '../security/access/access.ts';
import { within } from '../security/paths/rules.ts';
import type { Database } from '../storage/database.ts';
import { readIfExists } from '../storage/files.ts';
import type { ToolResult } from '../tools/tool.ts';
import type { Clock } from '../util/clock.ts';
import { errorCode } from '../util/errors.ts';

/** The author of text in a marked path. `outside` is untrusted for everybody; a role's text is untrusted for higher roles. */
export type MarkAuthor = 'outside' | 'guest' | 'trusted';

export interface MarkedPath {
  /** Relative to the workspace, or absolute. */
  readonly path: string;
  /** The mark covers everything below the folder. @default false */
  readonly isFolder?: boolean;
}

export interface MarksOptions {
  readonly db: Database;
  readonly clock: Pick<Clock, 'now'>;
  /** Absolute path. */
  readonly workspace: string;
  /** Folders whose files are always untrusted. They need not exist. @default none */
  readonly folders?: readonly string[];
  /** A file whose own text says whether it holds untrusted content. @default none */
  readonly log?: { readonly path: string; readonly holdsUntrusted: (text: string) => boolean };
}

export type ResultBits = Pick<ToolResult, 'untrusted' | 'private'>;

/** Sources of untrusted text and names of files, as questions name them. */
export const TEXT_SOURCE = 'a file that others helped to write';
export const NAMES_SOURCE = 'file names that others chose';

/** Suffix of a version's reason if its file was marked. Restoring that version marks the file again. */
export const WAS_MARKED = ' (others helped to write it)';

/** Above this many marks, the marks in large folders become one mark of the folder. */
const MOST_MARKS = 50_000;
const MOST_IN_FOLDER = 1_000;
/** More new marks than this are added by sorting everything once. */
const FEW = 64;
/** Younger marks are kept even without a file, because a mark is written before its file. */
const YOUNG_MS = 86_400_000;
/** Marks that one sweep checks. */
const SWEPT = 5_000;

/** So many marks of a folder are looked up on the disk at once; with more, one of them counts as there. */
const LOOKED_AT = 1_000;

const RANK: Readonly<Record<MarkAuthor, number>> = { outside: 0, guest: 1, trusted: 2 };

interface Mark {
  readonly author: MarkAuthor;
  readonly isFolder: boolean;
  /** Ms since 1970. */
  readonly at: number;
}

/**
 * Which files and folders may hold untrusted text, by path (table `marks` of the journal). A mark lasts as long as its
 * path exists. Lookups are answered from memory; they take real, absolute paths.
 */
export class Marks {
  readonly #options: MarksOptions;
  /** Real path of the workspace. */
  readonly #root: string;
  /** By real path. */
  readonly #marks = new Map<string, Mark>();
  /** The keys of `#marks`, in which everything below a folder is one range. */
  #sorted: string[];
  #foldAt = MOST_MARKS;
  /** The last path that a sweep looked at. */
  #swept = '';
  #more: () => Promise<readonly string[]> = async () => [];

  constructor(options: MarksOptions) {
    this.#options = options;
    this.#root = realOf(options.workspace);
    for (const row of options.db.all('SELECT path, author, is_folder, at FROM marks')) {
      const isFolder = row.number('is_folder') === 1;
      const mark = { author: asAuthor(row.text('author')), isFolder, at: row.number('at') };
      this.#marks.set(this.#real(row.text('path')), mark);
    }
    this.#sorted = [...this.#marks.keys()].sort();
  }

  /** Adds a function that returns more untrusted folders, by their real paths. Called at each lookup of `isUntrusted`. */
  alsoIn(folders: () => Promise<readonly string[]>): void {
    this.#more = folders;
  }

  /** Marks paths within the caller's transaction. A path that is marked already keeps the weaker of the authors. */
  mark(paths: readonly MarkedPath[], author: MarkAuthor): void {
    const added: string[] = [];
    for (const { path, isFolder = false } of paths) {
      const real = this.#real(path);
      if (real === this.#root) continue;
      const known = this.#marks.get(real);
      if (known === undefined) added.push(real);
      this.#put(real, {
        author: known === undefined ? author : weakerOf(known.author, author),
        isFolder: isFolder || known?.isFolder === true,
        at: this.#options.clock.now(),
      });
    }
    this.#insert(added);
    if (this.#sorted.length > this.#foldAt) this.#fold();
  }

  /**
   * Keeps the marks at and below removed paths for so long (ms), because an undo can bring the paths back; within the caller's
   * transaction.
   */
  holdBelow(paths: readonly string[], ms: number): void {
    const at = this.#options.clock.now() + ms;
    for (const real of paths.flatMap((path) => this.below(this.#real(path)))) {
      const mark = this.#marks.get(real);
      if (mark !== undefined) this.#put(real, { ...mark, at });
    }
  }

  /** As `mark`, in its own transaction; durable when it resolves. */
  record(paths: readonly MarkedPath[], author: MarkAuthor): Promise<void> {
    return this.#options.db.write(() => this.mark(paths, author));
  }

  /** The author of a path that is marked or is below a marked folder; null: neither. */
  authorOf(realPath: string): MarkAuthor | null {
    const own = this.#marks.get(realPath)?.author;
    const above = foldersAbove(realPath).flatMap((folder) => {
      const mark = this.#marks.get(folder);
      return mark?.isFolder === true ? [mark.author] : [];
    });
    const [first, ...others] = own === undefined ? above : [own, ...above];
    return first === undefined ? null : others.reduce(weakerOf, first);
  }

  /** The marked folder above a path; null: none. */
  folderAbove(realPath: string): string | null {
    return foldersAbove(realPath).find((folder) => this.#marks.get(folder)?.isFolder === true) ?? null;
  }

  /** The marked paths at or below a folder, sorted, at most `most`. */
  below(realFolder: string, most: number = Number.POSITIVE_INFINITY): readonly string[] {
    const own = this.#marks.has(realFolder) ? [realFolder] : [];
    const [from, to] = this.#range(realFolder);
    return [...own, ...this.#sorted.slice(from, Math.min(to, from + most))].slice(0, most);
  }

  /** How many paths `below` has. */
  count(realFolder: string): number {
    const [from, to] = this.#range(realFolder);
    return to - from + (this.#marks.has(realFolder) ? 1 : 0);
  }

  /** True if a folder holds a marked path that exists, is marked or is below a marked folder. */
  holdsBelow(realFolder: string): boolean {
    if (this.authorOf(realFolder) !== null) return true;
    const first = this.below(realFolder, LOOKED_AT);
    return this.count(realFolder) > first.length || first.some((path) => isThere(path));
  }

  /** A path for people: relative to the workspace if it is in it. */
  nameOf(realPath: string): string {
    return within(this.#root, realPath) ? realPath.slice(this.#root.length + 1) : realPath;
  }

  /** The real path of a path that may be relative to the workspace and needn't exist. */
  realOf(path: string): string {
    return realOf(this.#real(path));
  }

  /** Removes the mark of a path and those below it; returns how many. */
  forget(path: string): Promise<number> {
    return this.#options.db.write(() => this.#remove(this.below(this.#real(path))));
  }

  /** Removes the mark of one path alone: the owner has written its whole content. */
  async forgetFile(realPath: string): Promise<void> {
    if (this.#marks.has(realPath)) await this.#options.db.write(() => this.#remove([realPath]));
  }

  /**
   * Real paths of the folders that aren't empty and whose files are untrusted without a mark. With `log`, also the log if it
   * holds untrusted text now.
   */
  async places({ log: withLog = false } = {}): Promise<readonly string[]> {
    const { folders = [], log } = this.#options;
    const isLog = withLog && log !== undefined && log.holdsUntrusted((await readIfExists(log.path)) ?? '');
    const filled = await Promise.all(folders.map(async (folder) => ((await isEmpty(folder)) ? [] : [realOf(folder)])));
    return [...filled.flat(), ...(await this.#more()), ...(isLog ? [realOf(log.path)] : [])];
  }

  /** True if the text or name of one of these files and folders is untrusted for this role. */
  async isUntrusted(realPaths: Iterable<string>, role: Role): Promise<boolean> {
    const paths = [...realPaths];
    if (paths.some((path) => countsFor(this.authorOf(path), role))) return true;
    const { log } = this.#options;
    const mayBeLog = log !== undefined && paths.some((path) => basename(path) === basename(log.path));
    const places = await this.places({ log: mayBeLog });
    return paths.some((path) => places.some((place) => within(place, path)));
  }

  /** Drops old marks whose paths are gone and returns how many. Checks some thousand, starting where the last sweep stopped. */
  async sweep(pace: () => Promise<void>): Promise<number> {
    const old = this.#options.clock.now() - YOUNG_MS;
    const from = this.#indexOf(this.#swept);
    const slice = this.#sorted.slice(from, from + SWEPT);
    this.#swept = slice.length < SWEPT ? '' : (slice.at(-1) ?? '');
    const gone = new Map<string, Mark>();
    for (const path of slice) {
      await pace();
      const mark = this.#marks.get(path);
      if (mark !== undefined && mark.at < old && (await isGone(path))) gone.set(path, mark);
    }
    if (gone.size === 0) return 0;
    return await this.#options.db.write(() =>
      this.#remove([...gone].flatMap(([path, mark]) => (this.#marks.get(path) === mark ? [path] : []))),
    );
  }

  #put(real: string, mark: Mark): void {
    const { db } = this.#options;
    const { author, isFolder, at } = mark;
    db.run('INSERT OR REPLACE INTO marks VALUES (?, ?, ?, ?)', this.nameOf(real), author, isFolder ? 1 : 0, at);
    this.#marks.set(real, mark);
  }

  #insert(added: readonly string[]): void {
    if (added.length > FEW) this.#sorted = [...this.#sorted, ...added].sort();
    else for (const path of added) this.#sorted.splice(this.#indexOf(path), 0, path);
  }

  #remove(gone: readonly string[]): number {
    const paths = gone.filter((path) => this.#marks.has(path));
    for (const path of paths) {
      this.#options.db.run('DELETE FROM marks WHERE path = ?', this.nameOf(path));
      this.#marks.delete(path);
      if (paths.length <= FEW) this.#sorted.splice(this.#indexOf(path), 1);
    }
    if (paths.length > FEW) this.#sorted = this.#sorted.filter((path) => this.#marks.has(path));
    return paths.length;
  }

  /** Replaces the marks in each large folder with one mark of the folder, the deepest first, until there are few enough. */
  #fold(): void {
    const counts = new Map<string, number>();
    for (const path of this.#sorted) {
      for (const folder of foldersAbove(path)) {
        if (within(folder, this.#root)) break;
        counts.set(folder, (counts.get(folder) ?? 0) + 1);
      }
    }
    const large = [...counts].filter(([, count]) => count > MOST_IN_FOLDER).map(([folder]) => folder);
    for (const folder of large.toSorted((a, b) => b.length - a.length)) {
      if (this.#sorted.length <= MOST_MARKS) break;
      const paths = this.below(folder);
      if (paths.length <= MOST_IN_FOLDER) continue;
      const authors = paths.flatMap((path) => this.#marks.get(path)?.author ?? []);
      this.#remove(paths);
      this.mark([{ path: folder, isFolder: true }], authors.reduce(weakerOf));
    }
    // Marks that are spread over many small folders stay. The next attempt comes after some more marks.
    this.#foldAt = Math.max(MOST_MARKS, this.#sorted.length + MOST_IN_FOLDER);
  }

  /** The part of `#sorted` with everything below a folder. */
  #range(folder: string): readonly [from: number, to: number] {
    const prefix = folder === '/' ? '/' : `${folder}/`;
    return [this.#indexOf(prefix), this.#indexOf(`${prefix.slice(0, -1)}0`)];
  }

  /** The index of the first path that doesn't come before this one. */
  #indexOf(path: string): number {
    let [from, to] = [0, this.#sorted.length];
    while (from < to) {
      const middle = (from + to) >>> 1;
      if ((this.#sorted[middle] ?? '') < path) from = middle + 1;
      else to = middle;
    }
    return from;
  }

  #real(path: string): string {
    const { workspace } = this.#options;
    const whole = resolve(this.#root, path);
    return within(workspace, whole) ? this.#root + whole.slice(workspace.length) : whole;
  }
}

/**
 * The bits of a result that shows text or names of these files and folders (real paths) to somebody with this role. Files that
 * tools may read are private to the owner.
 */
export async function bitsOf(marks: Marks | undefined, realPaths: Iterable<string>, role: Role): Promise<ResultBits> {
  return (await marks?.isUntrusted(realPaths, role)) === true ? { private: true, untrusted: true } : { private: true };
}

/** True if text by this author is untrusted for this role. */
function countsFor(author: MarkAuthor | null, role: Role): boolean {
  return author === 'outside' || (author !== null && !atLeast(author, role));
}

/** The author of a text that two authors wrote together. */
export function weakerOf(one: MarkAuthor, other: MarkAuthor): MarkAuthor {
  return RANK[one] <= RANK[other] ? one : other;
}

/** The folders above an absolute path, the nearest first. */
function foldersAbove(path: string): readonly string[] {
  const folders: string[] = [];
  for (let at = dirname(path), last = path; at !== last; last = at, at = dirname(at)) folders.push(at);
  return folders;
}

/** A stored author; an unknown one is the weakest. */
export function asAuthor(author: string): MarkAuthor {
  return author === 'guest' || author === 'trusted' ? author : 'outside';
}

/** The real path. Of a missing path: the real path of the nearest existing folder, and the rest. */
function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return dirname(path) === path ? path : join(realOf(dirname(path)), basename(path));
  }
}

/** Whether a folder has no entries or doesn't exist. */
async function isEmpty(folder: string): Promise<boolean> {
  const opened = await opendir(folder).catch(() => null);
  const first = await opened?.read();
  await opened?.close();
  return first == null;
}

async function isGone(path: string): Promise<boolean> {
  return await lstat(path).then(
    () => false,
    (error: unknown) => ['ENOENT', 'ENOTDIR'].includes(errorCode(error) ?? ''),
  );
}

function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    // What can't be looked at may be there.
    return errorCode(error) !== 'ENOTDIR';
  }
}
