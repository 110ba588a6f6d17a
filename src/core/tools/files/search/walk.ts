import { closeSync, constants, existsSync, lstatSync, openSync, readdirSync, readFileSync, type Stats } from 'node:fs';
import { dirname, join } from 'node:path';
import { openEntry, type PathRules } from '../../../security/paths/open-inside.ts';
import { pin, refused, SYNC_CALLS, type Pinned } from '../../../security/paths/pinned.ts';
import { decidePath } from '../../../security/paths/rules.ts';
import { Ignored } from './git-ignore.ts';

/** The start of a walk and its rules, as plain data for another thread. */
export interface WalkBase {
  /** A real path that may be read. */
  readonly path: string;
  readonly isFolder: boolean;
  readonly rules: PathRules;
}

export interface WalkOptions {
  /** The walk ends after this many files and folders. @default 500,000 */
  readonly maxEntries?: number;
  /** Whether a file is wanted, by its path below the base; `stop` ends the walk. */
  readonly want: (below: string) => 'yes' | 'no' | 'stop';
  /** Shows also what the files named `.gitignore` name. */
  readonly ignored: boolean;
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
  readonly open: () => Promise<OpenedFile | undefined>;
}

interface OpenedFile {
  readonly fd: number;
  readonly stat: Stats;
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

/** Folders that are listed, and not entered below the folder that was named. */
export const NOT_ENTERED: ReadonlySet<string> = new Set(['.git', 'node_modules']);
const MOST_ENTRIES = 500_000;
const DEEPEST = 100;
const IGNORE_FILE = '.gitignore';
/** A larger `.gitignore` is passed over. */
const MOST_IGNORE_BYTES = 256 * 1024;

/**
 * All files below a folder, folder by folder, sorted by name. Links are not followed. Its system calls are synchronous, so it
 * is only for worker threads.
 */
export async function* walkFiles(base: WalkBase, options: WalkOptions, left: LeftOut): AsyncGenerator<WalkedFile> {
  const { maxEntries = MOST_ENTRIES, want } = options;
  const { rules } = base;
  using begin = await pin(base.path, { noFollow: true, calls: SYNC_CALLS }).catch(() => undefined);
  // The base itself may have been approved: for it, `ask` is good enough.
  const isSame = begin?.path === base.path && begin.stat.isDirectory() === base.isFolder;
  if (begin === undefined || !isSame || decide(base.path, rules) === 'deny') {
    throw refused(`${base.path} changed while it was being opened; try again.`);
  }
  let entries = 0;
  async function* enter(folder: Pinned, below: string, depth: number, outer: Ignored): AsyncGenerator<WalkedFile> {
    const names = namesIn(folder);
    const own = !options.ignored && names.some((entry) => entry.name === IGNORE_FILE && entry.isFile());
    const text = own ? await ignoreTextIn(folder, rules) : undefined;
    const ignored = text === undefined ? outer : outer.with(text, below);
    for (const entry of names) {
      entries += 1;
      if (entries > maxEntries) left.ended ??= 'entries';
      if (left.ended !== null) return;
      const { name } = entry;
      const isFolder = entry.isDirectory();
      if (!isFolder && !entry.isFile()) continue;
      const path = join(folder.path, name);
      const here = below === '' ? name : `${below}/${name}`;
      const isEntered = isFolder && !NOT_ENTERED.has(name) && depth < DEEPEST;
      if (!NOT_ENTERED.has(name) && ignored.has(here, isFolder)) {
        left.ignored += 1;
        continue;
      }
      const wanted = isFolder ? (isEntered ? 'yes' : 'no') : want(here);
      if (wanted === 'stop') left.ended = 'stopped';
      if (wanted !== 'yes' || decide(path, rules) === 'deny') continue;
      if (!isFolder) {
        const open = async (): Promise<OpenedFile | undefined> =>
          opened(await openEntry(folder, name, rules, SYNC_CALLS), left);
        yield { path, below: here, look: () => lookAt(folder.at(name)), open };
        continue;
      }
      using inner = (await openEntry(folder, name, rules, SYNC_CALLS)) ?? undefined;
      if (inner?.stat.isDirectory() === true) yield* enter(inner, here, depth + 1, ignored);
      else left.closed += 1;
    }
  }
  if (begin.stat.isDirectory()) {
    const above = options.ignored ? new Ignored() : await ignoredAbove(base.path, rules);
    yield* enter(begin, '', 0, above);
  } else if (begin.stat.isFile()) {
    const open = async (): Promise<OpenedFile | undefined> =>
      opened(await pin(begin.self, { calls: SYNC_CALLS }).catch(() => null), left);
    yield { path: begin.path, below: '', look: () => lookAt(begin.path), open };
  }
}

function decide(path: string, { access, caller, roots }: PathRules): 'allow' | 'ask' | 'deny' {
  return decidePath(path, access, caller, roots).decision;
}

/** The file of an entry, opened for reading. */
function opened(entry: Pinned | null, left: LeftOut): OpenedFile | undefined {
  using file = entry ?? undefined;
  if (file?.stat.isFile() === true) {
    try {
      return { fd: openSync(file.self, constants.O_RDONLY | constants.O_NONBLOCK), stat: file.stat };
    } catch {
      // Not permitted by the system.
    }
  }
  left.closed += 1;
  return undefined;
}

/** The text of a folder's `.gitignore`; undefined when it may not be read or is too large. */
async function ignoreTextIn(folder: Pinned, rules: PathRules): Promise<string | undefined> {
  const file = opened(await openEntry(folder, IGNORE_FILE, rules, SYNC_CALLS), newLeftOut());
  if (file === undefined) return undefined;
  try {
    return file.stat.size > MOST_IGNORE_BYTES ? undefined : readFileSync(file.fd, 'utf8');
  } catch {
    return undefined;
  } finally {
    closeSync(file.fd);
  }
}

/** What the folders above say of a folder that lies in a git repository. A folder that they name was asked for on purpose. */
async function ignoredAbove(base: string, rules: PathRules): Promise<Ignored> {
  const nothing = new Ignored();
  const above: string[] = [];
  for (let folder = base; !existsSync(join(folder, '.git')); folder = dirname(folder)) {
    if (dirname(folder) === folder || decide(folder, rules) !== 'allow') return nothing;
    above.unshift(dirname(folder));
  }
  let ignored = nothing;
  for (const path of above) {
    using folder = await pin(path, { calls: SYNC_CALLS }).catch(() => undefined);
    const text = folder === undefined ? undefined : await ignoreTextIn(folder, rules);
    if (text !== undefined) ignored = ignored.withAbove(text, base.slice(join(path, '/').length));
  }
  const isNamed = [...above.slice(1), base].some((folder) => ignored.hasFolderAbove(base.slice(folder.length)));
  return isNamed ? nothing : ignored;
}

/** For a walk that has not begun. */
export function newLeftOut(): LeftOut {
  return { closed: 0, ignored: 0, ended: null };
}

function namesIn(folder: Pinned) {
  try {
    return readdirSync(folder.self, { withFileTypes: true }).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  } catch {
    return [];
  }
}

function lookAt(name: string): Stats | undefined {
  try {
    return lstatSync(name);
  } catch {
    return undefined;
  }
}
