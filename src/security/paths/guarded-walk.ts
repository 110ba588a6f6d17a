import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readlinkSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import { refused } from './refusals.ts';
import { PRIVATE_NAMES } from './names.ts';
import { decidePath, isState, statePaths, type PathCaller, type PathRoots } from './rules.ts';

/** Where a walk begins and by which rules it judges: plain data, made by `PathGuard.walkBase`, for another thread. */
export interface WalkBase {
  /** Real; it may be read. */
  readonly path: string;
  readonly isFolder: boolean;
  readonly roots: PathRoots;
  readonly caller: PathCaller;
}

export interface WalkOptions {
  /** Folders of these names below the base are not entered. */
  readonly skip: ReadonlySet<string>;
  /** Whatever comes after so many names is not looked at. */
  readonly mostEntries: number;
  /** Whether a file is wanted, by its name from the base on; `stop` ends the walk. */
  readonly want: (below: string) => 'yes' | 'no' | 'stop';
}

/** A regular file by its name, to be used before the next one is asked for. */
export interface WalkedFile {
  /** Real. */
  readonly path: string;
  /** From the base on; empty when the base is a file. */
  readonly below: string;
  /** What its name says of it, without opening it; undefined when it is gone. */
  readonly look: () => Stats | undefined;
  /** Opened and then judged; undefined when it may not be read or cannot be. The caller closes it. */
  readonly open: () => { readonly fd: number; readonly stat: Stats } | undefined;
}

/** What a walk left out. */
export interface LeftOut {
  /** Files and folders that need a person's yes, or cannot be opened. */
  closed: number;
  /** It ended before its end: at `mostEntries`, or because it was told to. */
  ended: 'entries' | 'stopped' | null;
}

const LINUX = process.platform === 'linux';
/** Linux: a descriptor that only names a file: opening it never blocks and never touches a device. */
const O_PATH = 0o10000000;
/** What Linux puts behind a name that was taken away: it may have others, anywhere. */
const GONE = ' (deleted)';
const DEEPEST = 100;

/**
 * All files below a folder, folder by folder, names in order, by the same rules as `PathGuard` and as it does it: opened
 * first and judged by where the descriptor leads. Links are not followed. Synchronous, so for threads that nobody waits
 * behind. Where there is no `/proc` a folder is known by its name alone, which is weaker.
 */
export function* walkFiles(base: WalkBase, options: WalkOptions, left: LeftOut): Generator<WalkedFile> {
  const { skip, mostEntries, want } = options;
  const rules = new Rules(base);
  const begin = pinned(base.path);
  const isSame = begin?.path === base.path && begin.stat.isDirectory() === base.isFolder && rules.allows(base.path);
  if (begin === undefined || !isSame) {
    if (begin !== undefined) closeSync(begin.fd);
    throw refused(`${base.path} changed while it was being opened; try again.`);
  }
  let entries = 0;
  function* enter(folder: Pinned, below: string, depth: number): Generator<WalkedFile> {
    for (const entry of namesIn(folder)) {
      entries += 1;
      if (entries > mostEntries) left.ended ??= 'entries';
      if (left.ended !== null) return;
      const path = join(folder.path, entry.name);
      const here = below === '' ? entry.name : `${below}/${entry.name}`;
      if (entry.isFile()) {
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
          if (inner.stat.isDirectory() && rules.allows(inner.path)) yield* enter(inner, here, depth + 1);
          else left.closed += 1;
        } finally {
          closeSync(inner.fd);
        }
      }
    }
  }
  try {
    if (begin.stat.isDirectory()) yield* enter(begin, '', 0);
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

  /** Where the walk begins was asked about before. */
  decide(path: string): 'allow' | 'ask' | 'deny' {
    const { caller, roots } = this.#base;
    const { decision } = decidePath(path, 'read', caller, roots);
    return decision === 'ask' && path === this.#base.path ? 'allow' : decision;
  }

  allows(path: string): boolean {
    return this.decide(path) === 'allow';
  }

  /** Whether it is something closed under another name (a hard link); what is closed is looked up once. */
  isClosed(stat: Stats): boolean {
    if (stat.nlink < 2) return false;
    this.#closed ??= closedInodes(this.#base);
    return this.#closed.has(inode(stat));
  }
}

interface Pinned {
  readonly fd: number;
  /** Where the descriptor really leads. */
  readonly path: string;
  /** A path that leads to the very same file, whatever its name leads to now. */
  readonly self: string;
  readonly stat: Stats;
}

/** Never through a link at the end of the name. `path`: what it is called where descriptors cannot be asked. */
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

/** `path` is allowed, and where the file was expected. */
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
    // The system does not permit it.
  } finally {
    closeSync(found.fd);
  }
  if (fd === undefined) left.closed += 1;
  return fd === undefined ? undefined : { fd, stat: found.stat };
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

/** What `refuseClosed` refuses, for many files at once: which inodes may not be read under another name. */
function closedInodes({ caller, roots }: WalkBase): ReadonlySet<string> {
  const { home, workspace, readRoots, links = [] } = roots;
  const opened = new Set([workspace, ...readRoots]);
  const elsewhere = links.filter(({ place }) => isState(place, caller, roots)).map(({ real }) => real);
  const found = new Set<string>();
  const collect = (place: string, except: ReadonlySet<string>): void => {
    const stat = lookAt(place);
    if (stat === undefined || except.has(place)) return;
    if (!stat.isDirectory()) found.add(inode(stat));
    else for (const name of readdirSync(place)) collect(join(place, name), except);
  };
  for (const place of [...(home === workspace ? statePaths(home) : [home]), ...elsewhere]) collect(place, opened);
  if (caller.role !== 'owner') for (const name of PRIVATE_NAMES) collect(join(workspace, name), new Set());
  return found;
}

function inode({ dev, ino }: Stats): string {
  return `${dev}:${ino}`;
}
