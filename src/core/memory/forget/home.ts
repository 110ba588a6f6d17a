import { lstat, readdir, readFile, rm } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { ifThere, namesIn, replaceDurable } from '../../storage/files.ts';
import { realFile } from '../files/memory-file.ts';
import { LARGEST_COPY } from '../../storage/change-log.ts';
import { othersFirst } from '../../util/wake.ts';
import type { Mention } from './mention.ts';
import {
  dropLines,
  dropParagraphs,
  forgetFolders,
  forgetJsonLines,
  forgetLines,
  forgetVersion,
  type Forget,
} from './texts.ts';

/** Absolute paths of a home, as in `HomePaths`. */
export interface ForgetPaths {
  readonly home: string;
  readonly workspace: string;
  readonly sessions: string;
  readonly audit: string;
  readonly media: string;
  readonly spill: string;
  readonly prompts: string;
  readonly versions: string;
  readonly quarantine: string;
  readonly logs: string;
  readonly terminalHistory: string;
  readonly editors: string;
}

/** What is mentioned in a home, or was. */
export interface Mentions {
  /** How many files of each kind, by what a person calls the kind. */
  readonly files: Readonly<Record<string, number>>;
  /** Lines that mention it, at most 50 of each file. */
  readonly lines: readonly string[];
  /** File names of the tapes among them. */
  readonly tapes: readonly string[];
  /** Files that mention it and belong to the person, so they stay; relative to the home, at most 20. */
  readonly left: readonly string[];
}

/** How a kind of files forgets: a text becomes another one, or the file is removed. */
interface Kind {
  readonly is: string;
  readonly files: AsyncIterable<string> | readonly string[];
  readonly forget: Forget | 'remove';
}

const MOST_LEFT = 20;
const MOST_LOOKED_AT = 20_000;
/** Folders of the workspace that hold no words of conversations and are large. */
const PASSED_OVER = new Set(['node_modules', '.git']);

/**
 * Looks through the files of a home for what a person wants forgotten; with `erases` it also leaves them, each file in one step. May be
 * repeated after a crash. With `erases` nothing else may use the home.
 */
export async function forgetInHome(
  paths: ForgetPaths,
  mention: Mention,
  { erases }: { readonly erases: boolean },
): Promise<Mentions> {
  const files: Record<string, number> = {};
  const lines = new Set<string>();
  const tapes: string[] = [];
  for (const { is, files: named, forget } of kindsOf(paths)) {
    for await (const path of named) {
      const isChanged = await forgetFile(path, mention, { forget, erases });
      if (isChanged && is === CONVERSATIONS) tapes.push(relative(paths.sessions, path));
      const found = mention.taken();
      if (!isChanged || found.length === 0) continue;
      files[is] = (files[is] ?? 0) + 1;
      for (const line of found) lines.add(line);
    }
  }
  return { files, lines: [...lines], tapes, left: await leftAlone(paths, mention) };
}

const CONVERSATIONS = 'conversations';

function kindsOf(paths: ForgetPaths): readonly Kind[] {
  const { workspace, sessions, audit, media, spill, prompts, versions, quarantine, logs, terminalHistory } = paths;
  const undo = join(versions, 'undo');
  return [
    { is: 'memory', files: [join(workspace, 'memory', 'MEMORY.md')], forget: dropLines },
    { is: 'memory', files: [join(workspace, 'memory', 'HISTORY.md')], forget: dropParagraphs },
    { is: CONVERSATIONS, files: filesIn(sessions), forget: forgetJsonLines },
    { is: 'earlier versions', files: filesIn(versions, (path) => path.endsWith('.md')), forget: forgetVersion },
    { is: 'copies for /undo', files: filesIn(join(undo, 'copies')), forget: 'remove' },
    { is: 'copies for /undo', files: filesIn(undo, (path) => /\.jsonl?$/u.test(path)), forget: forgetJsonLines },
    { is: 'long results', files: filesIn(spill), forget: forgetLines },
    { is: 'attachments', files: filesIn(media), forget: 'remove' },
    { is: 'prompts', files: filesIn(prompts), forget: 'remove' },
    { is: 'damaged data', files: filesIn(quarantine), forget: 'remove' },
    { is: 'logs', files: filesIn(logs), forget: forgetJsonLines },
    { is: 'logs', files: filesIn(paths.home, (path) => path.startsWith(audit), 1), forget: forgetJsonLines },
    { is: 'logs', files: [terminalHistory], forget: dropLines },
    { is: 'folders of code editors', files: [paths.editors], forget: forgetFolders },
  ];
}

/** True: the file mentions it. */
async function forgetFile(
  path: string,
  mention: Mention,
  { forget, erases }: { readonly forget: Kind['forget']; readonly erases: boolean },
): Promise<boolean> {
  const text = await textOf(path);
  if (text === undefined || !mention.isIn(text)) return false;
  if (forget === 'remove') {
    if (!mention.takes(text)) return false;
    if (erases) await rm(path, { force: true });
    return true;
  }
  const next = forget(text, mention);
  if (next === text) return false;
  if (erases) await replaceDurable(await realFile(path), next);
  return true;
}

/** Undefined: there is no ordinary file, or one that is too large to be a text of ours. */
async function textOf(path: string): Promise<string | undefined> {
  // So that a gateway that only looks still answers meanwhile.
  await othersFirst();
  const facts = await ifThere(lstat(await realFile(path)));
  if (facts === undefined || !facts.isFile() || facts.size > LARGEST_COPY * 4) return undefined;
  return (await ifThere(readFile(path)))?.toString('utf8');
}

async function* filesIn(
  folder: string,
  isWanted: (path: string) => boolean = () => true,
  depth = 8,
): AsyncGenerator<string> {
  for (const entry of (await ifThere(readdir(folder, { withFileTypes: true }))) ?? []) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && depth > 1 && !PASSED_OVER.has(entry.name)) yield* filesIn(path, isWanted, depth - 1);
    else if (entry.isFile() && isWanted(path)) yield path;
  }
}

/** The person's own files, which they may clear themselves. */
async function leftAlone({ home, workspace }: ForgetPaths, mention: Mention): Promise<readonly string[]> {
  const left: string[] = [];
  const own = new Set([join(workspace, 'memory', 'MEMORY.md'), join(workspace, 'memory', 'HISTORY.md')]);
  let count = 0;
  for (const folder of [workspace, join(home, 'skills'), join(home, 'plugins')]) {
    for await (const path of filesIn(folder)) {
      count += 1;
      if (left.length >= MOST_LEFT || count > MOST_LOOKED_AT) return left;
      if (own.has(path)) continue;
      const text = await textOf(path);
      if (text !== undefined && mention.takes(text)) left.push(relative(home, path));
      mention.taken();
    }
  }
  const config = await textOf(join(home, 'config.json'));
  if (config !== undefined && mention.takes(config)) left.push('config.json');
  mention.taken();
  return left;
}

/** Names of the backups in a home, which keep what they hold. */
export async function backupsIn(folder: string): Promise<readonly string[]> {
  return (await namesIn(folder)).filter((name) => !name.startsWith('.')).toSorted();
}
