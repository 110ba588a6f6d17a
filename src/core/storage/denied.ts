import { accessSync, constants, readdirSync, statSync, type Stats } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import * as z from 'zod';
import { shellWord } from '../util/text.ts';

/** Entries of a folder that are looked at. */
const MOST_ENTRIES = 2_000;
/** SQLITE_PERM, SQLITE_READONLY and SQLITE_CANTOPEN: SQLite does not say whether permissions are the reason. */
const DENIED_BY_SQLITE = new Set([3, 8, 14]);
const systemError = z.object({ code: z.enum(['EACCES', 'EPERM']) });
const sqliteError = z.object({ code: z.literal('ERR_SQLITE_ERROR'), errcode: z.number() });

/** Whether the system may have refused the access to a file. */
export function mayBeDenied(thrown: unknown): boolean {
  return causesOf(thrown).some((error) => {
    const sqlite = sqliteError.safeParse(error).data;
    return systemError.safeParse(error).success || DENIED_BY_SQLITE.has((sqlite?.errcode ?? 0) & 0xff);
  });
}

/** An error and its causes, the outermost first. */
export function causesOf(thrown: unknown): readonly unknown[] {
  const causes: unknown[] = [];
  for (let at = thrown; at !== undefined && causes.length < 5; at = at instanceof Error ? at.cause : undefined)
    causes.push(at);
  return causes;
}

/** The first file of a home that this process may not use: which, why, and what to do. Null: it may use all that was looked at. */
export function deniedSentence(home: string): string | null {
  const uid = process.geteuid?.();
  if (uid === undefined) return null;
  const above = foldersAbove(home).find((folder) => !may(folder, constants.X_OK));
  if (above !== undefined) {
    return `${userName(uid)} may not enter ${above}, where the home ${home} lies. Choose another folder with --home.`;
  }
  for (const path of placesOf(home)) {
    const facts = factsOf(path);
    if (facts !== undefined && !may(path, needed(facts))) return sentence(path, { home, facts, uid });
  }
  return null;
}

function sentence(
  path: string,
  { home, facts, uid }: { readonly home: string; readonly facts: Stats; readonly uid: number },
): string {
  if (facts.uid === uid) {
    const mode = (facts.mode & 0o777).toString(8).padStart(4, '0');
    return `The permissions of ${path} do not let its owner use it (mode ${mode}). Run: chmod u+rwX ${shellWord(path)}`;
  }
  const owner = facts.uid === 0 ? 'root' : `user ${facts.uid}`;
  const ids = `${uid}:${process.getegid?.() ?? uid}`;
  return `${path} belongs to ${owner}, and this program runs as ${userName(uid)}. Run: sudo chown -R ${ids} ${shellWord(home)}`;
}

/** Undefined: there is none, or it is a link into a folder that may not be entered. */
function factsOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** The home and what lies in it and its folders, as far as it can be listed. */
function* placesOf(home: string): Generator<string> {
  yield home;
  const entries = entriesOf(home);
  yield* entries;
  for (const entry of entries) yield* entriesOf(entry);
}

function entriesOf(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
      .slice(0, MOST_ENTRIES)
      .map((name) => join(folder, name));
  } catch {
    // It is a file, or may not be listed, which was said before.
    return [];
  }
}

/** The folders above a path, the topmost first. */
function foldersAbove(path: string): readonly string[] {
  const parent = dirname(path);
  return parent === path ? [] : [...foldersAbove(parent), parent];
}

function needed(facts: Stats): number {
  return facts.isDirectory() ? constants.R_OK | constants.W_OK | constants.X_OK : constants.R_OK | constants.W_OK;
}

function may(path: string, what: number): boolean {
  try {
    accessSync(path, what);
    return true;
  } catch (error) {
    return !systemError.safeParse(error).success;
  }
}

function userName(uid: number): string {
  try {
    return userInfo().username;
  } catch {
    // The system knows no name for it, as in a container.
    return `user ${uid}`;
  }
}
