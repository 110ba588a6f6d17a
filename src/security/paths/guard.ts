import { constants, type Stats } from 'node:fs';
import { lstat, mkdir, open, opendir, type FileHandle } from 'node:fs/promises';
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
  type PathRoots,
} from './rules.ts';

export interface PathGuardOptions {
  /** Relative paths start here. */
  readonly workspace: string;
  /** The assistant's home; closed to tools but for the workspace and read roots in it. */
  readonly home: string;
  /** Folders that may be read beside the workspace. */
  readonly readRoots: readonly string[];
  /** False opens the whole machine but the assistant's state. */
  readonly restrictToWorkspace: boolean;
  /** What `~` means. @default the home directory of the user who runs the process */
  readonly userHome?: string;
}

/** Who opens. `approved` answers for a real path that needs a person's yes whether it was given. @default no */
export interface PathUse extends PathCaller {
  readonly approved?: (path: string, reason: string) => boolean;
}

export interface OpenedFile {
  /** At the start of a regular file; the caller closes it. */
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

const LONGEST_LIST = 10_000;
const NEW_FILE_MODE = 0o600;
/** Where a root really is, is looked up again after so many milliseconds: what is swapped meanwhile is outside. */
const ROOT_MS = 1_000;
const MOST_ROOTS = 1_000;

/**
 * The one opener for every path that a tool, an attachment or a skill touches. Everything is opened first and judged
 * by what was really opened, so a link that is swapped in between leads nowhere. Refusals are thrown as an `AppError`
 * with the code `path-refused` and one sentence for the model.
 */
export class PathGuard {
  readonly #options: PathGuardOptions;
  readonly #real = new Map<string, { readonly place: Promise<string>; readonly until: number }>();

  constructor(options: PathGuardOptions) {
    this.#options = options;
  }

  /** Absolute, with `~` expanded; links are not followed. Throws on an empty path and on a NUL character. */
  resolve(path: string): string {
    if (path === '' || path.includes('\0')) throw refused('A path must be a non-empty text without NUL characters.');
    const expanded = /^~(?=\/|$)/.test(path) ? join(this.#options.userHome ?? homedir(), path.slice(1)) : path;
    return resolve(this.#options.workspace, expanded);
  }

  /** Decides without reading or changing anything. What does not exist is judged by where it would be. */
  async check(path: string, access: PathAccess, caller: PathCaller): Promise<PathDecision> {
    try {
      const roots = await this.#roots(access === 'read' ? caller.readRoots : []);
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
    return await this.#guarded({ path, readRoots: use.readRoots }, async (absolute, roots) => {
      await using pinned = await this.#pin(absolute, 'read', use, roots);
      requireFile(pinned, path);
      const handle = await open(pinned.self, constants.O_RDONLY | constants.O_NONBLOCK);
      return { handle, path: pinned.path, stat: pinned.stat };
    });
  }

  /** Where a walk of another thread begins, a file or a directory that may be read, and the rules that it goes by. */
  async walkBase(path: string, use: PathUse): Promise<WalkBase> {
    return await this.#guarded({ path, readRoots: use.readRoots }, async (absolute, roots) => {
      await using pinned = await this.#pin(absolute, 'read', use, roots);
      const isFolder = pinned.stat.isDirectory();
      if (!isFolder) requireFile(pinned, path);
      const { role, chatType, taint } = use;
      const caller = { role, taint: { untrusted: taint.untrusted }, ...(chatType === undefined ? {} : { chatType }) };
      return { path: pinned.path, isFolder, roots, caller };
    });
  }

  /** What lies in a directory and may be known, in no order, at most 10,000 entries. */
  async list(path: string, use: PathUse): Promise<{ path: string; entries: ListedEntry[]; more: boolean }> {
    return await this.#guarded({ path, readRoots: use.readRoots }, async (absolute, roots) => {
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
   * Replaces or creates a file in one step: readers see the old bytes or the new ones. Missing parents are created,
   * the mode of a replaced file is kept (`mode` is for a new one), a link to an allowed file is followed.
   * `unchangedSince` refuses when the file is not the one that was read before; null: when there is one.
   */
  async writeFile(
    path: string,
    bytes: Uint8Array,
    use: PathUse & { readonly unchangedSince?: Stats | null; readonly mode?: number },
  ): Promise<{ path: string; created: boolean }> {
    return await this.#guarded({ path }, async (absolute, roots) => {
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

  /** Removes a file, unless it is not the one that was read before. */
  async removeFile(path: string, use: PathUse & { readonly unchangedSince: Stats }): Promise<void> {
    await this.#guarded({ path }, async (absolute, roots) => {
      const old = await this.#replaced(absolute, path, use, roots);
      if (old === undefined || !sameFile(old.stat, use.unchangedSince)) {
        throw refused(`${path} changed after it was read, so it is not removed.`);
      }
      await using parent = await this.#parent(old.path, use, roots);
      allowOrThrow(decidePath(join(parent.path, basename(old.path)), 'write', use, roots), use);
      await removeIn(parent, basename(old.path));
    });
  }

  /** The file that a write replaces; undefined when there is none. */
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

  /** Opens the directory of a new file, creating what is missing step by step beneath a directory that was checked. */
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
    { path, readRoots }: { path: string; readRoots?: readonly string[] | undefined },
    work: (absolute: string, roots: PathRoots) => Promise<T>,
  ): Promise<T> {
    try {
      return await work(this.resolve(path), await this.#roots(readRoots));
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

  /** Says no before anything is opened, so that nobody learns what exists outside. Roots may be named by their links. */
  #refuseOutside(absolute: string, access: PathAccess, caller: PathCaller, roots: PathRoots): PathDecision | undefined {
    const { workspace, readRoots } = this.#options;
    const own = access === 'read' ? (caller.readRoots ?? []) : [];
    const named = [workspace, ...readRoots, ...own].some((root) => within(resolve(root), absolute));
    if (named) return undefined;
    const decision = decidePath(absolute, access, caller, roots);
    return decision.decision === 'deny' ? decision : undefined;
  }

  async #roots(own: readonly string[] = []): Promise<PathRoots> {
    const { workspace, home, readRoots, restrictToWorkspace } = this.#options;
    const [realWorkspace, realHome, opened] = await Promise.all([
      this.#realRoot(workspace),
      this.#realRoot(home),
      Promise.all([...readRoots, ...own].map((root) => this.#realRoot(root))),
    ]);
    const places = { workspace: realWorkspace, home: realHome };
    const links = linksOf(places);
    return {
      ...places,
      readRoots: [...opened, ...opened.flatMap((root) => otherPaths(root, { links }))],
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
    this.#real.set(root, { place, until: now + ROOT_MS });
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
