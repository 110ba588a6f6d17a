import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  type Stats,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { refused } from './refusals.ts';
import { PRIVATE_NAMES } from './names.ts';
import { Ignored, type ReadIgnoreRules } from './ignored.ts';
import { closedPlaces, decidePath, isState, openedPlaces, type PathCaller, type PathRoots } from './rules.ts';

/** The start of a walk and its rules, as plain data for another thread; made by `PathGuard.walkBase`. */
export interface WalkBase {
  /** A real path that may be read. */
  readonly path: string;
  readonly isFolder: boolean;
  readonly roots: PathRoots;
  readonly caller: PathCaller;
}

export interface WalkOptions {
  /** Names of folders that are not entered. */
  readonly skip: ReadonlySet<string>;
  /** The walk ends after this many files and folders. */
  readonly maxEntries: number;
  /** Whether a file is wanted, by its path below the base; `stop` ends the walk. */
  readonly want: (below: string) => 'yes' | 'no' | 'stop';
  /** Leaves out what the files named `.gitignore` name. @default nothing is left out */
  readonly ignoreRules?: ReadIgnoreRules;
}

/** A regular file of a walk; valid until the next one is requested. */
export interface WalkedFile {
  /** Its real path. */
  readonly path: string;
  /** Its path below the base; empty when the base is this file. */
  readonly below: string;
  /** Its `lstat`, without opening it; undefined when it is gone. */
  readonly look: () => Stats | undefined;
  /** Opens it, then decides whether it may be read; undefined when it may not or cannot. The caller closes it. */
  readonly open: () => { readonly fd: number; readonly stat: Stats } | undefined;
}

/** What a walk did not show. */
export interface LeftOut {
  /** Files and folders that need a person's yes, or cannot be opened. */
  closed: number;
  /** Files and folders that `.gitignore` names; what is in such a folder is not counted. */
  ignored: number;
  /** Why it ended early: `maxEntries` was reached, or `want` said `stop`; null: it was complete. */
  ended: 'entries' | 'stopped' | null;
}

const LINUX = process.platform === 'linux';
/** Linux: opens a descriptor that only names a file, which never blocks and never touches a device. */
const O_PATH = 0o10000000;
/** Linux appends this to the path of a removed file, which may have other names anywhere. */
const GONE = ' (deleted)';
const DEEPEST = 100;
const IGNORE_FILE = '.gitignore';
/** A larger `.gitignore` is passed over. */
const MOST_IGNORE_BYTES = 256 * 1024;

/**
 * All files below a folder, folder by folder, sorted by name, under the rules of `PathGuard`: a file is opened first,
 * and the decision is made about the real path of the descriptor. Links are not followed. Synchronous, so only for
 * worker threads. Outside Linux a folder is judged by its name alone, which is weaker.
 */
export function* walkFiles(base: WalkBase, options: WalkOptions, left: LeftOut): Generator<WalkedFile> {
  const { skip, maxEntries, want, ignoreRules } = options;
  const rules = new Rules(base);
  const begin = pinned(base.path);
  const isSame = begin?.path === base.path && begin.stat.isDirectory() === base.isFolder && rules.allows(base.path);
  if (begin === undefined || !isSame) {
    if (begin !== undefined) closeSync(begin.fd);
    throw refused(`${base.path} changed while it was being opened; try again.`);
  }
  let entries = 0;
  function* enter(folder: Pinned, below: string, depth: number, outer: Ignored): Generator<WalkedFile> {
    const names = namesIn(folder);
    const own = ignoreRules !== undefined && names.some((entry) => entry.name === IGNORE_FILE && entry.isFile());
    const text = own ? ignoreTextIn(folder, rules) : undefined;
    const ignored = text === undefined ? outer : outer.with(text, below);
    for (const entry of names) {
      entries += 1;
      if (entries > maxEntries) left.ended ??= 'entries';
      if (left.ended !== null) return;
      const path = join(folder.path, entry.name);
      const here = below === '' ? entry.name : `${below}/${entry.name}`;
      if ((entry.isFile() || entry.isDirectory()) && !skip.has(entry.name) && ignored.has(here, entry.isDirectory())) {
        left.ignored += 1;
      } else if (entry.isFile()) {
        const wanted = want(here);
        if (wanted === 'stop') left.ended = 'stopped';
        if (wanted !== 'yes') continue;
        const decision = rules.decide(path);
        if (decision === 'deny') continue;
        const name = `${folder.self}/${entry.name}`;
        yield {
          path,
          below: here,
          look: () => lookAt(name),
          open: () => openJudged(decision === 'allow' ? pinned(name, path) : undefined, path, rules, left),
        };
      } else if (entry.isDirectory() && !skip.has(entry.name) && depth < DEEPEST) {
        const decision = rules.decide(path);
        if (decision === 'deny') continue;
        const inner = decision === 'allow' ? pinned(`${folder.self}/${entry.name}`, path) : undefined;
        if (inner === undefined) {
          left.closed += 1;
          continue;
        }
        try {
          if (inner.stat.isDirectory() && rules.allows(inner.path)) yield* enter(inner, here, depth + 1, ignored);
          else left.closed += 1;
        } finally {
          closeSync(inner.fd);
        }
      }
    }
  }
  try {
    if (begin.stat.isDirectory()) yield* enter(begin, '', 0, ignoredAbove(base.path, rules, ignoreRules));
    else if (begin.stat.isFile()) {
      const { path } = begin;
      yield { path, below: '', look: () => lookAt(path), open: () => openJudged(pinned(path), path, rules, left) };
    }
  } finally {
    closeSync(begin.fd);
  }
}

/** The decisions of one walk. */
class Rules {
  readonly #base: WalkBase;
  #closed: ReadonlySet<string> | undefined;

  constructor(base: WalkBase) {
    this.#base = base;
  }

  /** The base itself was approved before, so for it `ask` means `allow`. */
  decide(path: string): 'allow' | 'ask' | 'deny' {
    const { caller, roots } = this.#base;
    const { decision } = decidePath(path, 'read', caller, roots);
    return decision === 'ask' && path === this.#base.path ? 'allow' : decision;
  }

  allows(path: string): boolean {
    return this.decide(path) === 'allow';
  }

  /** Whether a file is a hard link to a closed one; the closed inodes are collected once. */
  isClosed(stat: Stats): boolean {
    if (stat.nlink < 2) return false;
    this.#closed ??= closedInodes(this.#base);
    return this.#closed.has(inode(stat));
  }
}

interface Pinned {
  readonly fd: number;
  /** The real path of the descriptor. */
  readonly path: string;
  /** A path that opens this very file, even if its name leads elsewhere now. */
  readonly self: string;
  readonly stat: Stats;
}

/** Opens a name without following a link at its end. `path`: its path where a descriptor does not tell it. */
function pinned(name: string, path = name): Pinned | undefined {
  let fd: number | undefined;
  try {
    if (!LINUX) {
      const before = lstatSync(name);
      if (!before.isFile() && !before.isDirectory()) return undefined;
    }
    fd = openSync(name, (LINUX ? O_PATH : constants.O_RDONLY | constants.O_NONBLOCK) | constants.O_NOFOLLOW);
    const stat = fstatSync(fd);
    const self = LINUX ? `/proc/self/fd/${fd}` : path;
    const real = LINUX ? readlinkSync(self) : path;
    if (!real.endsWith(GONE)) return { fd, self, stat, path: real };
    closeSync(fd);
    return undefined;
  } catch {
    if (fd !== undefined) closeSync(fd);
    return undefined;
  }
}

/** Opens a pinned file for reading if its real path may be read. `path`: where it was expected, which is allowed. */
function openJudged(
  found: Pinned | undefined,
  path: string,
  rules: Rules,
  left: LeftOut,
): ReturnType<WalkedFile['open']> {
  if (found === undefined) {
    left.closed += 1;
    return undefined;
  }
  let fd: number | undefined;
  try {
    const isOpen =
      found.stat.isFile() && (found.path === path || rules.allows(found.path)) && !rules.isClosed(found.stat);
    if (isOpen) fd = openSync(found.self, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch {
    // Not permitted by the system.
  } finally {
    closeSync(found.fd);
  }
  if (fd === undefined) left.closed += 1;
  return fd === undefined ? undefined : { fd, stat: found.stat };
}

/** The text of a folder's `.gitignore`; undefined when it may not be read or is too large. */
function ignoreTextIn(folder: Pick<Pinned, 'path' | 'self'>, rules: Rules): string | undefined {
  const path = join(folder.path, IGNORE_FILE);
  if (!rules.allows(path)) return undefined;
  const opened = openJudged(pinned(`${folder.self}/${IGNORE_FILE}`, path), path, rules, newLeftOut());
  if (opened === undefined) return undefined;
  try {
    return opened.stat.size > MOST_IGNORE_BYTES ? undefined : readFileSync(opened.fd, 'utf8');
  } catch {
    return undefined;
  } finally {
    closeSync(opened.fd);
  }
}

/** What the folders above say of a folder that lies in a git repository. A folder that they name was asked for on purpose. */
function ignoredAbove(base: string, rules: Rules, read: ReadIgnoreRules | undefined): Ignored {
  const nothing = new Ignored(read);
  if (read === undefined) return nothing;
  const above: string[] = [];
  for (let folder = base; !existsSync(join(folder, '.git')); folder = dirname(folder)) {
    if (dirname(folder) === folder || !rules.allows(folder)) return nothing;
    above.unshift(dirname(folder));
  }
  let ignored = nothing;
  for (const folder of above) {
    const text = ignoreTextIn({ path: folder, self: folder }, rules);
    if (text !== undefined) ignored = ignored.withAbove(text, base.slice(join(folder, '/').length));
  }
  const isNamed = [...above.slice(1), base].some((folder) => ignored.hasFolderAbove(base.slice(folder.length)));
  return isNamed ? nothing : ignored;
}

/** For a walk that has not begun. */
export function newLeftOut(): LeftOut {
  return { closed: 0, ignored: 0, ended: null };
}

function namesIn(folder: Pinned): readonly ReturnType<typeof entriesOf>[number][] {
  try {
    return entriesOf(folder.self).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  } catch {
    return [];
  }
}

function entriesOf(path: string) {
  return readdirSync(path, { withFileTypes: true });
}

function lookAt(name: string): Stats | undefined {
  try {
    return lstatSync(name);
  } catch {
    return undefined;
  }
}

/** The inodes that `refuseClosed` refuses, collected once for many files. */
function closedInodes({ caller, roots }: WalkBase): ReadonlySet<string> {
  const { workspace, links = [] } = roots;
  const opened = openedPlaces(roots);
  const elsewhere = links.filter(({ place }) => isState(place, caller, roots)).map(({ real }) => real);
  const found = new Set<string>();
  const collect = (place: string, except: ReadonlySet<string>): void => {
    const stat = lookAt(place);
    if (stat === undefined || except.has(place)) return;
    if (!stat.isDirectory()) found.add(inode(stat));
    else for (const name of readdirSync(place)) collect(join(place, name), except);
  };
  for (const place of [...closedPlaces(roots), ...elsewhere]) collect(place, opened);
  if (caller.role !== 'owner') for (const name of PRIVATE_NAMES) collect(join(workspace, name), new Set());
  return found;
}

function inode({ dev, ino }: Stats): string {
  return `${dev}:${ino}`;
}
