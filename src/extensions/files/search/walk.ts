import { closeSync, constants, existsSync, lstatSync, openSync, readdirSync, readFileSync, type Stats } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import ignore, { type Ignore } from 'ignore';
import {
  decidePath,
  openEntry,
  type PathRules,
  pin,
  type Pinned,
  refused,
  SYNC_CALLS,
} from '../../../core/api-paths.ts';

/** The start of a walk and its rules, as plain data for another thread. */
export interface WalkBase {
  /** A real path that may be read. */
  readonly path: string;
  readonly isFolder: boolean;
  readonly rules: PathRules;
}

/** A regular file of a walk; valid until the visit is over. */
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

export interface WalkOptions {
  /** Visits also what the files named `.gitignore` name. */
  readonly ignored: boolean;
  /** Asked before each file and folder; true ends the walk. */
  readonly isOver: () => boolean;
  /** Whether a file is visited, by its path below the base. */
  readonly wants: (below: string) => boolean;
  readonly visit: (file: WalkedFile) => void | Promise<void>;
  /** The walk ends after this many files and folders. @default 500,000 */
  readonly maxEntries?: number;
}

/** What a walk did not visit. */
export interface LeftOut {
  /** Files and folders that need a person's yes, or cannot be opened. */
  closed: number;
  /** Files and folders that `.gitignore` names; what is in such a folder is not counted. */
  ignored: number;
  /** It ended at `maxEntries`. */
  isTooMuch: boolean;
}

/** Folders that are listed, and not entered below the folder that was named. */
export const NOT_ENTERED: ReadonlySet<string> = new Set(['.git', 'node_modules']);
const MOST_ENTRIES = 500_000;
const DEEPEST = 100;
const IGNORE_FILE = '.gitignore';
/** A larger `.gitignore` is passed over. */
const MOST_IGNORE_BYTES = 256 * 1024;
/** A rule with more stars is passed over: matching it may take very long. */
const MOST_STARS = 8;

/**
 * Visits all files below a folder, folder by folder, sorted by name. Links are not followed. Its system calls are
 * synchronous, so it is only for worker threads.
 */
export async function walkFiles(base: WalkBase, options: WalkOptions): Promise<LeftOut> {
  const { rules } = base;
  using begin = await pin(base.path, { noFollow: true, calls: SYNC_CALLS }).catch(() => undefined);
  // The base itself may have been approved: for it, `ask` is good enough.
  const isSame = begin?.path === base.path && begin.stat.isDirectory() === base.isFolder;
  if (begin === undefined || !isSame || decide(base.path, rules) === 'deny') {
    throw refused(`${base.path} changed while it was being opened; try again.`);
  }
  const left: LeftOut = { closed: 0, ignored: 0, isTooMuch: false };
  const { maxEntries = MOST_ENTRIES, wants, visit } = options;
  const above = options.ignored ? NO_RULES : await rulesAbove(base.path, rules);
  let entries = 0;
  const open = async (pinning: Promise<Pinned | null>): Promise<OpenedFile | undefined> => {
    const file = opened(await pinning);
    if (file === undefined) left.closed += 1;
    return file;
  };
  /** False: the walk is over. */
  const enter = async (folder: Pinned, below: string, depth: number, outer: Ignore): Promise<boolean> => {
    const names = namesIn(folder);
    const hasRules = !options.ignored && names.some((entry) => entry.name === IGNORE_FILE && entry.isFile());
    // What an instance remembers of paths ends with the folder.
    const git = newRules().add(outer);
    if (hasRules) git.add(rulesIn(await ignoreTextIn(folder, rules), above.lead + below));
    for (const entry of names) {
      entries += 1;
      left.isTooMuch = entries > maxEntries;
      if (left.isTooMuch || options.isOver()) return false;
      const { name } = entry;
      const isFolder = entry.isDirectory();
      if (!isFolder && !entry.isFile()) continue;
      const isClosed = NOT_ENTERED.has(name);
      const here = below + name;
      if (!isClosed && git.ignores(`${above.lead}${here}${isFolder ? '/' : ''}`)) {
        left.ignored += 1;
        continue;
      }
      const path = join(folder.path, name);
      const isWanted = isFolder ? !isClosed && depth < DEEPEST : wants(here);
      if (!isWanted || decide(path, rules) === 'deny') continue;
      const pinned = (): Promise<Pinned | null> => openEntry(folder, name, rules, SYNC_CALLS);
      if (!isFolder) {
        await visit({ path, below: here, look: () => lookAt(folder.at(name)), open: () => open(pinned()) });
        continue;
      }
      using inner = (await pinned()) ?? undefined;
      if (inner?.stat.isDirectory() !== true) left.closed += 1;
      else if (!(await enter(inner, `${here}/`, depth + 1, git))) return false;
    }
    return true;
  };
  if (begin.stat.isDirectory()) await enter(begin, '', 0, above.rules);
  else if (begin.stat.isFile()) {
    const pinned = (): Promise<Pinned | null> => pin(begin.self, { calls: SYNC_CALLS }).catch(() => null);
    await visit({ path: begin.path, below: '', look: () => lookAt(begin.path), open: () => open(pinned()) });
  }
  return left;
}

/** The rules of git above a folder, written for the topmost of these folders; `lead`: the path from there, with a slash at its end. */
interface RulesAbove {
  readonly rules: Ignore;
  readonly lead: string;
}

const NO_RULES: RulesAbove = { rules: newRules(), lead: '' };

function newRules(): Ignore {
  return ignore({ ignorecase: false });
}

/** The rules of a folder's file as if they stood in a folder above; `place`: the path from there, with a slash at its end. */
function rulesIn(text: string, place: string): string {
  const lead = place.replaceAll(/[\\*?[\] ]/gu, String.raw`\$&`);
  const rules = text.replace(/^\uFEFF/u, '').split('\n');
  return rules
    .filter((rule) => !/^(?:#|!?\/* *\r?$)/u.test(rule) && rule.split('*').length <= MOST_STARS + 1)
    .map((rule) => {
      if (lead === '') return rule;
      const not = rule.startsWith('!') ? '!' : '';
      const own = rule.slice(not.length);
      // One without a slash before its end is for every folder below.
      return `${not}/${lead}${/\/(?! *\r?$)/u.test(own) ? own.replace(/^\//u, '') : `**/${own}`}`;
    })
    .join('\n');
}

/** What the folders above say of a folder in a git repository. One that they name was asked for on purpose. */
async function rulesAbove(base: string, access: PathRules): Promise<RulesAbove> {
  const above: string[] = [];
  for (let folder = base; !existsSync(join(folder, '.git')); folder = dirname(folder)) {
    if (dirname(folder) === folder || decide(folder, access) !== 'allow') return NO_RULES;
    above.unshift(dirname(folder));
  }
  const [top] = above;
  if (top === undefined) return NO_RULES;
  const rules = newRules();
  const leadTo = (path: string): string => relative(top, path).replace(/.$/u, '$&/');
  for (const path of above) {
    using folder = await pin(path, { calls: SYNC_CALLS }).catch(() => undefined);
    if (folder !== undefined) rules.add(rulesIn(await ignoreTextIn(folder, access), leadTo(path)));
  }
  return rules.ignores(leadTo(base)) ? NO_RULES : { rules, lead: leadTo(base) };
}

function decide(path: string, { access, caller, roots }: PathRules): 'allow' | 'ask' | 'deny' {
  return decidePath(path, access, caller, roots).decision;
}

/** The file of an entry, opened for reading; undefined when it is none, or the system does not permit it. */
function opened(entry: Pinned | null): OpenedFile | undefined {
  using file = entry ?? undefined;
  if (file?.stat.isFile() !== true) return undefined;
  try {
    return { fd: openSync(file.self, constants.O_RDONLY | constants.O_NONBLOCK), stat: file.stat };
  } catch {
    return undefined;
  }
}

/** The text of a folder's `.gitignore`; empty when it may not be read or is too large. */
async function ignoreTextIn(folder: Pinned, rules: PathRules): Promise<string> {
  const file = opened(await openEntry(folder, IGNORE_FILE, rules, SYNC_CALLS));
  if (file === undefined) return '';
  try {
    return file.stat.size > MOST_IGNORE_BYTES ? '' : readFileSync(file.fd, 'utf8');
  } catch {
    return '';
  } finally {
    closeSync(file.fd);
  }
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
