import { constants, type Stats } from 'node:fs';
import { mkdir, open, rename, rm, rmdir, unlink, type FileHandle } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { AppError, errorCode } from '../../util/errors.ts';
import { systemRandom } from '../../util/random.ts';
import { folded, MEANT_NAMES } from './names.ts';
import { CALLS, changedSince, fileError, isSameFile, pin, refused, type FileCalls, type Pinned } from './pinned.ts';
import {
  decidePath,
  mayBeSessions,
  within,
  type OwnPaths,
  type PathAccess,
  type PathCaller,
  type PathRoots,
} from './rules.ts';

export interface PathGuardOptions {
  readonly paths: OwnPaths;
  /** Relative paths are resolved from here. */
  readonly workspace: string;
  /** The assistant's home; closed to tools except for the workspace and the folders of a session in it. */
  readonly home: string;
  /** The home of the main assistant that `home` is in, closed too; null: none. @default null */
  readonly host?: string | null;
  /** Folders outside the home that may be read in addition to the workspace. */
  readonly readRoots: readonly string[];
  /** False opens the whole machine except the home, /proc, /sys and /dev; places for credentials still ask. */
  readonly restrictToWorkspace: boolean;
  /** What `~` means. @default the home directory of the user who runs the process */
  readonly userHome?: string;
  /** @default without blocking the event loop */
  readonly calls?: FileCalls;
}

/** Who opens something, and under which rules: plain data, also for another thread. */
export interface PathRules {
  readonly access: PathAccess;
  readonly caller: PathCaller;
  readonly roots: PathRoots;
}

/** Links that are followed; Linux has the same limit. */
const MOST_LINKS = 40;
const NEW_FILE_MODE = 0o600;
/** How long the real path of a root is cached, ms. */
const ROOT_CACHE_MS = 1_000;
const MOST_ROOTS = 1_000;

/** The folder of something to be written, and the names of the folders that are missing in it. */
export interface Parent {
  readonly pinned: Pinned;
  readonly missing: readonly string[];
}

/** A place that was opened and judged: a file, a folder, or nothing yet. Disposing closes it. */
export class Inside implements Disposable {
  /** The real path: where it is, or would be. */
  readonly path: string;
  /** Why a person has to allow it first; null: nobody has to. */
  readonly asks: string | null;
  /** As the caller named it, for sentences. */
  readonly #named: string;
  readonly #found: Pinned | AppError;
  readonly #parent: Parent | null;

  constructor(
    { path, asks, named }: Pick<Inside, 'path' | 'asks'> & { readonly named: string },
    found: Pinned | AppError,
    parent: Parent | null = null,
  ) {
    this.path = path;
    this.asks = asks;
    this.#named = named;
    this.#found = found;
    this.#parent = parent;
  }

  /** Null: nothing is there, or it cannot be opened. */
  get stat(): Stats | null {
    return this.#found instanceof AppError ? null : this.#found.stat;
  }

  /** What was opened. Throws one sentence when that is nothing. */
  get pinned(): Pinned {
    if (this.#found instanceof AppError) throw this.#found;
    return this.#found;
  }

  /** The folders that a write makes, the innermost first. */
  get newFolders(): readonly string[] {
    const { pinned, missing } = this.#parent ?? { missing: [] };
    return missing.map((_, n) => join(pinned?.path ?? '', ...missing.slice(0, n + 1))).toReversed();
  }

  /** Opens the regular file for reading, at its start; the caller closes the handle. */
  async open(): Promise<FileHandle> {
    const { stat, self } = this.pinned;
    requireFile(stat, this.#named);
    return await open(self, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: unknown) => {
      throw fileError(error, this.#named);
    });
  }

  /**
   * Creates or replaces the file atomically: readers see the old bytes or the new ones, durable when it resolves. Missing
   * folders are made; a replaced file keeps its mode. Throws a sentence when the file is not the one that was opened.
   */
  async write(bytes: Uint8Array, mode: number = NEW_FILE_MODE): Promise<void> {
    await this.#change((folder, name) => replaceIn(folder, name, bytes, (this.stat?.mode ?? mode) & 0o777));
  }

  /** Removes the file, durably. Throws a sentence when it is not the one that was opened. */
  async remove(): Promise<void> {
    await this.#change(async (folder, name) => {
      await unlink(folder.at(name));
      await syncFolder(folder);
    });
  }

  async #change(work: (folder: Pinned, name: string) => Promise<void>): Promise<void> {
    const name = basename(this.path);
    try {
      using folder = await this.#madeFolder();
      const now = await CALLS.lstat(folder.at(name)).catch(() => null);
      if (!isSameFile(now, this.stat)) throw changedSince(this.#named);
      await work(folder, name);
    } catch (error) {
      throw fileError(error, this.#named);
    }
  }

  /** The folder of the file. Missing ones are made one by one below the one that was judged. */
  async #madeFolder(): Promise<Pinned> {
    if (this.#parent === null) throw refused(`${this.#named} was opened for reading.`);
    let folder = await pin(this.#parent.pinned.self);
    for (const name of this.#parent.missing) {
      using above = folder;
      await mkdir(above.at(name), 0o700).catch((error: unknown) => {
        if (errorCode(error) !== 'EEXIST') throw error;
      });
      folder = await pin(above.at(name), { noFollow: true });
      if (folder.stat.isDirectory()) continue;
      folder[Symbol.dispose]();
      throw refused(`${folder.path} is not a directory.`);
    }
    return folder;
  }

  [Symbol.dispose](): void {
    if (!(this.#found instanceof AppError)) this.#found[Symbol.dispose]();
    this.#parent?.pinned[Symbol.dispose]();
  }
}

/**
 * Opens every path that a tool, an attachment or a skill touches. A path is opened first, and the decision is made about
 * what was really opened, so swapping a link in between achieves nothing. Refusals are thrown as an `AppError` with the code
 * `path-refused` and one sentence for the model.
 */
export class PathGuard {
  readonly #options: PathGuardOptions;
  readonly #calls: FileCalls;
  readonly #real = new Map<string, { readonly place: Promise<string>; readonly until: number }>();

  constructor(options: PathGuardOptions) {
    this.#options = options;
    this.#calls = options.calls ?? CALLS;
  }

  /** The absolute path, with `~` expanded; links are not followed. Throws for an empty path or a NUL character. */
  resolve(path: string): string {
    if (path === '' || path.includes('\0')) throw refused('A path must be a non-empty text without NUL characters.');
    const expanded = /^~(?=\/|$)/.test(path) ? join(this.#options.userHome ?? homedir(), path.slice(1)) : path;
    return resolve(this.#options.workspace, expanded);
  }

  /**
   * Opens what a path leads to, then decides about it. Changes nothing. What is missing is judged by where it would be; using
   * it throws. `read` takes files and folders, `write` files and what is not there yet.
   */
  async openInside(path: string, access: PathAccess, caller: PathCaller): Promise<Inside> {
    try {
      const absolute = this.resolve(path);
      const rules = { access, caller, roots: await this.rootsFor(caller) };
      const named = this.#nameInWorkspace(absolute, rules);
      return await this.#open(absolute, { path, named, rules });
    } catch (error) {
      throw fileError(error, path);
    }
  }

  /** Removes a folder if it is empty; one that is not, or is not there, stays as it is. */
  async removeEmptyFolder(path: string, caller: PathCaller): Promise<void> {
    try {
      const absolute = this.resolve(path);
      const rules = { access: 'write' as const, caller, roots: await this.rootsFor(caller) };
      using folder = await pin(dirname(absolute), { calls: this.#calls });
      judge(join(folder.path, basename(absolute)), rules);
      await rmdir(folder.at(basename(absolute)));
    } catch (error) {
      if (!['ENOTEMPTY', 'EEXIST', 'ENOENT', 'ENOTDIR'].includes(errorCode(error) ?? '')) throw fileError(error, path);
    }
  }

  /** The rules for one caller. */
  async rootsFor({ readRoots: ofSession = [], roots = [] }: PathCaller): Promise<PathRoots> {
    const { paths, workspace, home, host, readRoots, restrictToWorkspace } = this.#options;
    const real = (all: readonly string[]): Promise<string[]> => Promise.all(all.map((root) => this.#realRoot(root)));
    const [realWorkspace, ownHome, outerHome, configured, session, own] = await Promise.all([
      this.#realRoot(workspace),
      this.#realRoot(home),
      this.#realRoot(host ?? home),
      real(readRoots),
      real(ofSession),
      real(roots),
    ]);
    const meant = [...MEANT_NAMES, ...paths.folders].map((name) => join(realWorkspace, name));
    const led = await real(meant);
    const aliases = meant.flatMap((place, i) => (led[i] === place ? [] : [{ place, real: led[i] ?? place }]));
    const isOutside = (root: string): boolean => !within(outerHome, root);
    const ownRoots = own.filter(isOutside);
    return {
      paths,
      workspace: realWorkspace,
      home: outerHome,
      readRoots: [
        ...configured.filter(isOutside),
        ...session.filter((root) => mayBeSessions(root, { home: ownHome, host: outerHome })),
        ...ownRoots,
      ],
      ownRoots,
      restrictToWorkspace,
      aliases,
    };
  }

  /**
   * The place in the workspace that a path names. Throws for a path that leads outside by its name alone, before anything is
   * opened, so that the answer does not show what exists there. Roots may be links.
   */
  #nameInWorkspace(absolute: string, rules: PathRules): string {
    const { access, caller, roots } = rules;
    const workspace = resolve(this.#options.workspace);
    if (within(workspace, absolute)) return join(roots.workspace, relative(workspace, absolute));
    const readable = access === 'read' ? (caller.readRoots ?? []) : [];
    const named = [...this.#options.readRoots, ...(caller.roots ?? []), ...readable];
    if (!named.some((root) => within(resolve(root), absolute))) judge(absolute, rules);
    return absolute;
  }

  async #open(absolute: string, { path, named, rules }: Naming): Promise<Inside> {
    const found = await pin(absolute, { calls: this.#calls }).catch((error: unknown) => fileError(error, path));
    return await keptOpen([found], async (opened) => {
      const isThere = !(found instanceof AppError);
      const place = isThere ? found.path : await realPlace(absolute, this.#calls);
      const asks = judge(place, rules, named);
      const isRead = rules.access === 'read';
      if (isThere && !(isRead && found.stat.isDirectory())) requireFile(found.stat, path);
      if (isRead) return new Inside({ path: place, asks, named: path }, found);
      if (!isThere && found.facts['code'] !== 'ENOENT') throw found;
      const target = isThere ? place : absolute;
      const parent = await this.#openFolderOf(target);
      opened.push(parent.pinned);
      const real = join(parent.pinned.path, ...parent.missing, basename(target));
      // A write would replace the link, or create its target.
      if (!isThere && real !== place) throw refused(`${path} is a broken link, so it is not written.`);
      if (real !== place) throw refused(`${path} changed while it was being opened; try again.`);
      const asksInGit = asks ?? (await this.#asksInRepository(place, rules));
      return new Inside({ path: place, asks: asksInGit, named: path }, found, parent);
    });
  }

  /** Git takes a folder with a HEAD for a repository whatever its name, so a write below one is judged like one below `.git`. */
  async #asksInRepository(place: string, rules: PathRules): Promise<string | null> {
    const { workspace } = rules.roots;
    const inGit = (folder: string): string => join(folder, '.git', relative(folder, place));
    if (folded(basename(place)) === 'head') return judge(place, rules, inGit(dirname(place)));
    for (let folder = dirname(place); within(workspace, folder); folder = dirname(folder)) {
      try {
        await this.#calls.lstat(join(folder, 'HEAD'));
        return judge(place, rules, inGit(folder));
      } catch (error) {
        if (!['ENOENT', 'ENOTDIR'].includes(errorCode(error) ?? '')) throw error;
      }
    }
    return null;
  }

  /** The nearest folder above a path that exists. */
  async #openFolderOf(target: string): Promise<Parent> {
    const missing: string[] = [];
    for (let folder = dirname(target); ; folder = dirname(folder)) {
      try {
        const pinned = await pin(folder, { calls: this.#calls });
        return { pinned, missing };
      } catch (error) {
        if (errorCode(error) !== 'ENOENT' || dirname(folder) === folder) throw error;
        missing.unshift(basename(folder));
      }
    }
  }

  #realRoot(root: string): Promise<string> {
    const now = performance.now();
    const known = this.#real.get(root);
    if (known !== undefined && now < known.until) return known.place;
    if (this.#real.size >= MOST_ROOTS) this.#real.clear();
    const place = realPlace(resolve(root), this.#calls);
    this.#real.set(root, { place, until: now + ROOT_CACHE_MS });
    return place;
  }
}

interface Naming {
  /** As the caller wrote it. */
  readonly path: string;
  /** As `PathGuard.#nameInWorkspace` returns it. */
  readonly named: string;
  readonly rules: PathRules;
}

/** Why a person has to allow a real path first; null: nobody has to. Throws when the rules close it. */
function judge(path: string, { access, caller, roots }: PathRules, named?: string): string | null {
  const decision = decidePath(path, access, caller, roots, named);
  if (decision.decision === 'deny') throw refused(decision.reason);
  return decision.decision === 'ask' ? decision.reason : null;
}

/** Opens an entry of an opened folder, never a link, and decides about it. Null: it may not be read as freely. */
export async function openEntry(
  folder: Pinned,
  name: string,
  rules: PathRules,
  calls?: FileCalls,
): Promise<Pinned | null> {
  const entry = await pin(folder.at(name), { noFollow: true, calls }).catch(() => null);
  if (entry !== null && decidePath(entry.path, rules.access, rules.caller, rules.roots).decision === 'allow') {
    return entry;
  }
  entry?.[Symbol.dispose]();
  return null;
}

/** Closes what was opened when the work fails. */
async function keptOpen<T>(
  opened: (Pinned | AppError)[],
  work: (opened: (Pinned | AppError)[]) => Promise<T>,
): Promise<T> {
  try {
    return await work(opened);
  } catch (error) {
    for (const one of opened) if (!(one instanceof AppError)) one[Symbol.dispose]();
    throw error;
  }
}

/** The real path of what exists, or would be created: all links are followed, also broken ones. Never rejects. */
async function realPlace(path: string, calls: FileCalls, links = 0): Promise<string> {
  try {
    return await calls.realpath(path);
  } catch {
    if (dirname(path) === path) return path;
    const place = join(await realPlace(dirname(path), calls, links), basename(path));
    try {
      const target = await calls.readlink(place);
      return links === MOST_LINKS ? place : await realPlace(resolve(dirname(place), target), calls, links + 1);
    } catch {
      return place;
    }
  }
}

/** Atomically writes `name` in a folder, durable when it resolves; a link of that name is replaced, not followed. */
async function replaceIn(folder: Pinned, name: string, bytes: Uint8Array, mode: number): Promise<void> {
  const temporary = folder.at(`.${Buffer.from(systemRandom.bytes(6)).toString('hex')}.tmp`);
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  const handle = await open(temporary, flags, mode);
  try {
    try {
      await handle.writeFile(bytes);
      await handle.chmod(mode);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, folder.at(name));
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await syncFolder(folder);
}

async function syncFolder(folder: Pinned): Promise<void> {
  const directory = await open(folder.self, constants.O_RDONLY);
  await directory.sync().finally(() => directory.close());
}

function requireFile(stat: Stats, path: string): void {
  if (stat.isFile()) return;
  throw refused(
    stat.isDirectory()
      ? `${path} is a directory; a file was expected.`
      : `${path} is not a regular file (a device, pipe or socket), so it is not opened.`,
  );
}
