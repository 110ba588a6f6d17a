import { type Dirent, lstatSync } from 'node:fs';
import { lstat, readdir, realpath, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { errorCode, errorMessage } from '../util/errors.ts';
import type { Skill } from './skill.ts';

/** Paths with what told them apart when they were looked at. */
export type Stamps = Map<string, string>;

/** A folder of skills; it need not exist. */
export interface SkillRoot {
  readonly path: string;
  readonly source: Skill['source'];
  /** Names of its folders that are passed over. @default none */
  readonly without?: readonly string[];
}

export interface FoundSkill {
  /** Real path. */
  readonly folder: string;
  readonly folderName: string;
  /** Real path of its `SKILL.md`. */
  readonly file: string;
}

export interface Walk {
  /** In the order of their paths. */
  readonly found: readonly FoundSkill[];
  /** All that the answer depends on. */
  readonly stamps: Stamps;
  /** One sentence each. */
  readonly warnings: readonly string[];
}

/** Skills may lie in groups: the root's own folders are level 1. */
const DEEPEST = 4;
const MOST_FOLDERS = 10_000;
const MOST_WARNINGS = 50;

/**
 * Finds the skills of a root: folders with a `SKILL.md`, which are not descended into. Links are not followed and
 * reported; only a root outside of the workspace may be one itself. Looks at `mostFolders` at most. Never throws.
 */
export async function walkRoot(root: SkillRoot, mostFolders = MOST_FOLDERS): Promise<Walk> {
  const found: FoundSkill[] = [];
  const stamps: Stamps = new Map([[root.path, folderStampOf(root.path)]]);
  const warnings: string[] = [];
  let folders = 0;
  const warn = (text: string): void => {
    if (warnings.length < MOST_WARNINGS) warnings.push(text);
    else if (warnings.length === MOST_WARNINGS) warnings.push(`There is more of that kind in ${root.path}.`);
  };
  const visit = async (folder: string, depth: number): Promise<void> => {
    folders += 1;
    if (folders > mostFolders) {
      if (folders === mostFolders + 1) warn(`${root.path} has over ${mostFolders} folders; the rest is not read.`);
      return;
    }
    stamps.set(folder, folderStampOf(folder));
    const entries = await readdir(folder, { withFileTypes: true });
    entries.sort((a, b) => (a.name < b.name ? -1 : 1));
    const file = depth === 0 ? undefined : skillFile(entries);
    if (file !== undefined) {
      const path = join(folder, file.name);
      stamps.set(path, folderStampOf(path));
      if (file.isFile()) found.push({ folder, folderName: basename(folder), file: path });
      else warn(`${path} is ${file.isSymbolicLink() ? 'a link' : 'not a regular file'}, so this skill is not used.`);
      return;
    }
    for (const entry of entries) {
      if (entry.name.startsWith('.') || entry.name === 'node_modules') continue;
      if (depth === 0 && root.without?.includes(entry.name) === true) continue;
      const path = join(folder, entry.name);
      if (entry.isSymbolicLink() && !(await leadsToFile(path))) warn(`${path} is a link, so it is not followed.`);
      if (entry.isDirectory() && depth < DEEPEST) await tolerant(path, () => visit(path, depth + 1));
    }
  };
  const tolerant = async (path: string, work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      if (errorCode(error) !== 'ENOENT') warn(`${path} could not be read: ${errorMessage(error)}.`);
    }
  };
  await tolerant(root.path, async () => {
    if (root.source === 'workspace' && (await lstat(root.path)).isSymbolicLink()) {
      warn(`${root.path} is a link, so no skill in it is used.`);
    } else await visit(await realpath(root.path), 0);
  });
  return { found, stamps, warnings };
}

/** `SKILL.md` before `skill.md` before other ways to write it. */
function skillFile(entries: readonly Dirent[]): Dirent | undefined {
  return entries.find(({ name }) => /^skill\.md$/iu.test(name));
}

async function leadsToFile(link: string): Promise<boolean> {
  return await stat(link).then(
    (facts) => facts.isFile(),
    () => false,
  );
}

/** Changes when a file is written or replaced, or when an entry of a folder comes or goes; `-`: there is nothing. */
export function folderStampOf(path: string): string {
  try {
    const facts = lstatSync(path, { throwIfNoEntry: false });
    if (facts === undefined) return '-';
    const { dev, ino, size, mtimeMs, ctimeMs } = facts;
    return `${dev}:${ino}:${size}:${mtimeMs}:${ctimeMs}`;
  } catch {
    return '-';
  }
}

export function isCurrent(stamps: Stamps): boolean {
  for (const [path, stamp] of stamps) if (folderStampOf(path) !== stamp) return false;
  return true;
}
