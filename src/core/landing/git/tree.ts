import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { errorCode } from '../../util/errors.ts';
import { within } from '../../security/paths/rules.ts';

/** An entry of a folder. */
export interface Entry {
  readonly name: string;
  readonly kind: 'folder' | 'link' | 'other';
}

/** A regular file. Null bytes: the file can't be read or is too long; `problem` says which. */
export type FileContent =
  | { readonly text: string; readonly mode: number; readonly problem?: undefined }
  | { readonly text: null; readonly mode: number; readonly problem: string };

/** Longer files aren't read. */
const LONGEST_BYTES = 1024 * 1024;
/** The kernel gives up at the same number. */
const MOST_LINKS = 40;

/**
 * A workspace as programs outside the sandbox will see it, read from wherever its content is now (e.g. a mounted view).
 *
 * Paths, names and texts are bytes: strings with one character per byte (latin1), so that no name is lost in decoding.
 */
export class Tree {
  /** Real path of the workspace. */
  readonly workspace: string;
  readonly #content: string;

  /** `content`: where the workspace's content is. @default the workspace itself */
  constructor(workspace: string, content = workspace) {
    this.workspace = toBytes(workspace);
    this.#content = toBytes(content);
  }

  /** Null where the folder can't be listed. A missing folder is empty. */
  list(folder: string): readonly Entry[] | null {
    try {
      return readdirSync(this.#at(folder), { withFileTypes: true, encoding: 'buffer' }).map((entry) => ({
        name: entry.name.toString('latin1'),
        kind: entry.isDirectory() ? 'folder' : entry.isSymbolicLink() ? 'link' : 'other',
      }));
    } catch (error) {
      return isMissing(error) ? [] : null;
    }
  }

  /** The link's target; undefined for everything else. */
  link(path: string): string | undefined {
    try {
      return readlinkSync(this.#at(path), { encoding: 'buffer' }).toString('latin1');
    } catch {
      return undefined;
    }
  }

  isFolder(path: string): boolean {
    return lstatSync(this.#at(path), { throwIfNoEntry: false })?.isDirectory() === true;
  }

  /** Reads a regular file; undefined where there is none. A link isn't followed. */
  read(path: string): FileContent | undefined {
    let fd: number | undefined;
    try {
      fd = openSync(this.#at(path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
      const { size, mode } = fstatSync(fd);
      if ((mode & constants.S_IFMT) !== constants.S_IFREG) return undefined;
      if (size > LONGEST_BYTES) return { text: null, mode, problem: `is too long to be read (${size} bytes)` };
      return { text: readFileSync(fd).toString('latin1'), mode };
    } catch (error) {
      if (isMissing(error) || errorCode(error) === 'ELOOP' || errorCode(error) === 'ENXIO') return undefined;
      return { text: null, mode: 0o777, problem: "can't be read" };
    } finally {
      if (fd !== undefined) closeSync(fd);
    }
  }

  /**
   * Where a path leads, as the kernel resolves it: `..` after a link leaves the link's target. Missing names are kept. Null if
   * links form a loop, and below `/proc`.
   */
  resolve(from: string, place: string): string | null {
    let path = place.startsWith('/') ? '/' : from;
    const parts = place.split('/').toReversed();
    for (let links = 0; ;) {
      const part = parts.pop();
      if (part === undefined) return path;
      if (part === '' || part === '.') continue;
      const next = part === '..' ? dirname(path) : join(path, part);
      // `/proc/self` differs in each process.
      if (next === '/proc') return null;
      const target = part === '..' ? undefined : this.link(next);
      if (target === undefined) {
        path = next;
        continue;
      }
      links += 1;
      if (links > MOST_LINKS) return null;
      if (target.startsWith('/')) path = '/';
      parts.push(...target.split('/').toReversed());
    }
  }

  isInside(path: string): boolean {
    return within(this.workspace, path);
  }

  /** Where a path's content is, as bytes for the file system. */
  #at(path: string): Buffer {
    const inside = this.isInside(path);
    return Buffer.from(inside ? this.#content + path.slice(this.workspace.length) : path, 'latin1');
  }
}

/** A path as bytes, one character each. */
export function toBytes(path: string): string {
  return Buffer.from(path).toString('latin1');
}

/** Bytes for people: UTF-8 where they are UTF-8, otherwise every other byte as `\xff`. */
export function readable(bytes: string): string {
  const buffer = Buffer.from(bytes, 'latin1');
  const text = buffer.toString('utf8');
  if (Buffer.from(text).equals(buffer)) return text;
  return bytes.replaceAll(/[\u0080-\u00ff]/gu, (byte) => `\\x${byte.charCodeAt(0).toString(16)}`);
}

function isMissing(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes(errorCode(error) ?? '');
}
