import { constants, type Stats } from 'node:fs';
import { lstat, mkdir, open, opendir, rmdir, type FileHandle } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { errorCode } from '../../util/errors.ts';
import { pin, type Pinned } from './descriptors.ts';
import type { WalkBase } from './guarded-walk.ts';
import { realPlace, requireDirectory, requireFile, requireNoLink, requireOneName, requireUsable } from './checks.ts';
import { fileError, refused } from './refusals.ts';
import { linksOf, refuseClosed, removeIn, replaceIn, sameFile } from './inodes.ts';
import {
  decidePath,
  otherPaths,
  within,
  type PathAccess,
  type PathCaller,
  type PathDecision,
  type OwnPaths,
  type PathRoots,
} from './rules.ts';

export interface PathGuardOptions {
  readonly paths: OwnPaths;
  /** Relative paths are resolved from here. */
  readonly workspace: string;
  /** The assistant's home; closed to tools except for the workspace and read roots in it. */
  readonly home: string;
  /** The home of the main assistant that `home` lies in, closed too; null: it lies in none. @default null */
  readonly host?: string | null;
  /** Folders that may be read in addition to the workspace. */
  readonly readRoots: readonly string[];
  /**
   * False opens the whole machine except the assistant's state, /proc, /sys and /dev; places for credentials still ask.
   */
  readonly restrictToWorkspace: boolean;
  /** What `~` means. @default the home directory of the user who runs the process */
  readonly userHome?: string;
}

/** Who opens a path, and what they were allowed. */
export interface PathUse extends PathCaller {
  /** Whether a person has approved a real path that needs it. @default no */
  readonly approved?: (path: string, reason: string) => boolean;
}

export interface OpenedFile {
  /** A regular file, positioned at its start; the caller closes it. */
  readonly handle: FileHandle;
  /** The real path. */
  readonly path: string;
  readonly stat: Stats;
}

export interface ListedEntry {
  readonly name: string;
  readonly kind: 'file' | 'directory' | 'link' | 'other';
  /** Bytes of a file, else 0. */
  readonly size: number;
}

/** Folders that are open to a caller alone. */
interface OwnFolders {
  readonly readRoots?: readonly string[];
  readonly roots?: readonly string[];
}

const LONGEST_LIST = 10_000;
const NEW_FILE_MODE = 0o600;
/** How long the real path of a root is cached, ms. */
const ROOT_CACHE_MS = 1_000;
const MOST_ROOTS = 1_000;

/**
 * Opens every path that a tool, an attachment or a skill touches. A path is opened first, and the decision is made
 * about what was really opened, so swapping a link in between achieves nothing. Refusals are thrown as an `AppError`
 * with the code `path-refused` and one sentence for the model.
 */
export class PathGuard {
  readonly #options: PathGuardOptions;
  readonly #real = new Map<string, { readonly place: Promise<string>; readonly until: number }>();

  constructor(options: PathGuardOptions) {
    this.#options = options;
  }

  /** The absolute path, with `~` expanded; links are not followed. Throws for an empty path or a NUL character. */
  resolve(path: string): string {
    if (path === '' || path.includes('\0')) throw refused('A path must be a non-empty text without NUL characters.');
    const expanded = /^~(?=\/|$)/.test(path) ? join(this.#options.userHome ?? homedir(), path.slice(1)) : path;
    return resolve(this.#options.workspace, expanded);
  }

  /**
   * Decides without opening or changing anything. A path that does not exist is judged by where it would be. Never
   * rejects.
   */
  async check(path: string, access: PathAccess, caller: PathCaller): Promise<PathDecision> {
    try {
      const roots = await this.#roots({ ...caller, readRoots: access === 'read' ? caller.readRoots : [] });
      const absolute = this.resolve(path);
      const refusal = this.#refuseOutside(absolute, access, caller, roots);
      if (refusal !== undefined) return refusal;
      const real = await realPlace(absolute);
      const decision = decidePath(real, access, caller, roots);
      if (decision.decision === 'deny') return decision;
      const stat = await lstat(real).catch(() => undefined);
      if (stat !== undefined) await requireUsable(stat, { path, access }, caller, roots);
      else if (access === 'write') await requireNoLink(absolute, path);
      return decision;
    } catch (error) {
      return { decision: 'deny', reason: fileError(error, path).message };
    }
  }

  async openForReading(path: string, use: PathUse): Promise<OpenedFile> {
    return await this.#guarded({ path, ...use }, async (absolute, roots) => {
      await using pinned = await this.#pin(absolute, 'read', use, roots);
      requireFile(pinned, path);
      const handle = await open(pinned.self, constants.O_RDONLY | constants.O_NONBLOCK);
      return { handle, path: pinned.path, stat: pinned.stat };
    });
  }

  /** The start of a walk in another thread: a file or directory that may be read, and the rules for what lies below. */
  async walkBase(path: string, use: PathUse): Promise<WalkBase> {
    return await this.#guarded({ path, ...use }, async (absolute, roots) => {
      await using pinned = await this.#pin(absolute, 'read', use, roots);
      const isFolder = pinned.stat.isDirectory();
      if (!isFolder) requireFile(pinned, path);
      const { role, chatType = null, who = null, taint } = use;
      const caller = { role, chatType, who, taint: { untrusted: taint.untrusted } };
      return { path: pinned.path, isFolder, roots, caller };
    });
  }

  /** The entries of a directory that the caller may know of, unordered, at most 10,000; `more`: there are others. */
  async list(path: string, use: PathUse): Promise<{ path: string; entries: ListedEntry[]; more: boolean }> {
    return await this.#guarded({ path, ...use }, async (absolute, roots) => {
      await using pinned = await this.#pin(absolute, 'read', use, roots);
      requireDirectory(pinned, path);
      const names: string[] = [];
      for await (const { name } of await opendir(pinned.self)) {
        if (decidePath(join(pinned.path, name), 'read', use, roots).decision !== 'deny') names.push(name);
        if (names.length > LONGEST_LIST) break;
      }
      const entries = await Promise.all(
        names.slice(0, LONGEST_LIST).map(async (name): Promise<ListedEntry | undefined> => {
          const info = await lstat(pinned.at(name)).catch(() => undefined);
          return info && { name, kind: kindOf(info), size: info.isFile() ? info.size : 0 };
        }),
      );
      const more = names.length > LONGEST_LIST;
      return { path: pinned.path, entries: entries.filter((entry) => entry !== undefined), more };
    });
  }

  /**
   * Creates or replaces a file atomically: readers see the old bytes or the new ones. Missing parents are created; a
   * replaced file keeps its mode (`mode` is for a new one); a link to an allowed file is followed. `unchangedSince`:
   * throws if the file is not the one that was read before; null: throws if there is a file.
   */
  async writeFile(
    path: string,
    bytes: Uint8Array,
    use: PathUse & { readonly unchangedSince?: Stats | null; readonly mode?: number },
  ): Promise<{ path: string; created: boolean }> {
    return await this.#guarded({ path, roots: use.roots }, async (absolute, roots) => {
      const old = await this.#replaced(absolute, path, use, roots);
      const target = old?.path ?? absolute;
      if (use.unchangedSince !== undefined && !sameFile(old?.stat, use.unchangedSince)) {
        throw refused(`${path} changed after it was read. Read it again before you change it.`);
      }
      await using parent = await this.#parent(target, use, roots);
      const real = join(parent.path, basename(target));
      allowOrThrow(decidePath(real, 'write', use, roots), use);
      await replaceIn(parent, basename(target), bytes, (old?.stat.mode ?? use.mode ?? NEW_FILE_MODE) & 0o777);
      return { path: real, created: old === undefined };
    });
  }

  /** Removes a file; throws if it is not the one that was read before. */
  async removeFile(path: string, use: PathUse & { readonly unchangedSince: Stats }): Promise<void> {
    await this.#guarded({ path, roots: use.roots }, async (absolute, roots) => {
      const old = await this.#replaced(absolute, path, use, roots);
      if (old === undefined || !sameFile(old.stat, use.unchangedSince)) {
        throw refused(`${path} changed after it was read, so it is not removed.`);
      }
      await using parent = await this.#parent(old.path, use, roots);
      allowOrThrow(decidePath(join(parent.path, basename(old.path)), 'write', use, roots), use);
      await removeIn(parent, basename(old.path));
    });
  }

  /** Removes a folder if it is empty; one that is not, or is not there, stays as it is. */
  async removeEmptyFolder(path: string, use: PathUse): Promise<void> {
    await this.#guarded({ path, roots: use.roots }, async (absolute, roots) => {
      allowOrThrow(decidePath(await realPlace(absolute), 'write', use, roots), use);
      await using parent = await pin(dirname(absolute));
      allowOrThrow(decidePath(join(parent.path, basename(absolute)), 'write', use, roots), use);
      await rmdir(parent.at(basename(absolute))).catch((error: unknown) => {
        if (!['ENOTEMPTY', 'EEXIST', 'ENOENT', 'ENOTDIR'].includes(errorCode(error) ?? '')) throw error;
      });
    });
  }

  /** The file that a write would replace; undefined when there is none. */
  async #replaced(
    absolute: string,
    path: string,
    use: PathUse,
    roots: PathRoots,
  ): Promise<{ path: string; stat: Stats } | undefined> {
    try {
      await using pinned = await this.#pin(absolute, 'write', use, roots);
      requireFile(pinned, path);
      requireOneName(pinned, path);
      return { path: pinned.path, stat: pinned.stat };
    } catch (error) {
      if (errorCode(error) !== 'ENOENT') throw error;
      await requireNoLink(absolute, path);
      return undefined;
    }
  }

  /** Opens the directory of a new file; missing directories are created one by one below one that was checked. */
  async #parent(target: string, use: PathUse, roots: PathRoots): Promise<Pinned> {
    const missing: string[] = [];
    let existing = dirname(target);
    let parent: Pinned | undefined;
    while (parent === undefined) {
      try {
        parent = await pin(existing);
      } catch (error) {
        if (errorCode(error) !== 'ENOENT' || dirname(existing) === existing) throw error;
        missing.unshift(basename(existing));
        existing = dirname(existing);
      }
    }
    const decision = decidePath(join(parent.path, ...missing, basename(target)), 'write', use, roots);
    for (const name of missing) {
      await using above: Pinned = parent;
      requireDirectory(above, above.path);
      allowOrThrow(decision, use);
      await mkdir(above.at(name), 0o700).catch((error: unknown) => {
        if (errorCode(error) !== 'EEXIST') throw error;
      });
      parent = await pin(above.at(name), { noFollow: true });
    }
    return parent;
  }

  async #guarded<T>(
    { path, ...opened }: { readonly path: string } & OwnFolders,
    work: (absolute: string, roots: PathRoots) => Promise<T>,
  ): Promise<T> {
    try {
      return await work(this.resolve(path), await this.#roots(opened));
    } catch (error) {
      throw fileError(error, path);
    }
  }

  async #pin(absolute: string, access: PathAccess, use: PathUse, roots: PathRoots): Promise<Pinned> {
    const refusal = this.#refuseOutside(absolute, access, use, roots);
    if (refusal !== undefined) allowOrThrow(refusal, use);
    const pinned = await pin(absolute).catch(async (error: unknown) => {
      const place = decidePath(await realPlace(absolute), access, use, roots);
      if (place.decision === 'deny') throw refused(place.reason);
      throw error;
    });
    try {
      allowOrThrow(decidePath(pinned.path, access, use, roots), use);
      await refuseClosed(pinned.stat, use, roots);
      return pinned;
    } catch (error) {
      await pinned[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Refuses before anything is opened, so that the answer does not show what exists outside. Roots may be links. */
  #refuseOutside(absolute: string, access: PathAccess, caller: PathCaller, roots: PathRoots): PathDecision | undefined {
    const { workspace, readRoots } = this.#options;
    const own = [...(caller.roots ?? []), ...(access === 'read' ? (caller.readRoots ?? []) : [])];
    const named = [workspace, ...readRoots, ...own].some((root) => within(resolve(root), absolute));
    if (named) return undefined;
    const decision = decidePath(absolute, access, caller, roots);
    return decision.decision === 'deny' ? decision : undefined;
  }

  async #roots({ readRoots: readable = [], roots = [] }: OwnFolders): Promise<PathRoots> {
    const { paths, workspace, home, host = null, readRoots, restrictToWorkspace } = this.#options;
    const [realWorkspace, realHome, realHost, own, opened] = await Promise.all([
      this.#realRoot(workspace),
      this.#realRoot(home),
      host === null ? undefined : this.#realRoot(host),
      Promise.all(roots.map((root) => this.#realRoot(root))),
      Promise.all([...readRoots, ...readable].map((root) => this.#realRoot(root))),
    ]);
    const places = { paths, workspace: realWorkspace, home: realHome, host: realHost };
    const links = linksOf(places);
    const ownRoots = own.filter((root) => !within(realHost ?? realHome, root));
    const all = [...opened, ...ownRoots];
    return {
      ...places,
      ownRoots,
      readRoots: [...all, ...all.flatMap((root) => otherPaths(root, { links }))],
      restrictToWorkspace,
      links,
    };
  }

  #realRoot(root: string): Promise<string> {
    const now = performance.now();
    const known = this.#real.get(root);
    if (known !== undefined && now < known.until) return known.place;
    if (this.#real.size >= MOST_ROOTS) this.#real.clear();
    const place = realPlace(resolve(root));
    this.#real.set(root, { place, until: now + ROOT_CACHE_MS });
    place.catch(() => this.#real.delete(root));
    return place;
  }
}

function kindOf(info: Stats): ListedEntry['kind'] {
  if (info.isFile()) return 'file';
  if (info.isDirectory()) return 'directory';
  return info.isSymbolicLink() ? 'link' : 'other';
}

function allowOrThrow(decision: PathDecision, use: PathUse): void {
  if (decision.decision === 'allow') return;
  if (decision.decision === 'deny') throw refused(decision.reason);
  if (use.approved?.(decision.path, decision.reason) !== true) {
    throw refused(`This needs a yes from the owner: ${decision.reason}.`);
  }
}
