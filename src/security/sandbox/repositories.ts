import { constants } from 'node:fs';
import { open, readdir, readlink, realpath } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { errorCode } from '../../util/errors.ts';
import { makesGitRun, readGitSettings } from '../git-settings.ts';
import { within } from '../path-rules.ts';

/** One file of a repository with which git is told what to run. */
export interface GitFile {
  /** What git would run because of it, or where it leads git; none for a harmless file. */
  readonly runs: readonly string[];
  /** Its bytes, or where it leads as a link. */
  readonly content: { readonly bytes: Buffer; readonly mode: number } | { readonly link: string };
}

/** All of them in a workspace by their paths. */
export interface GitFiles {
  readonly files: ReadonlyMap<string, GitFile>;
  /** False when the workspace has more folders than are looked at. */
  readonly complete: boolean;
}

const MOST_FOLDERS = 100_000;
const AT_ONCE = 8;
/** Longer files are not kept; they count as running something. */
const LONGEST_BYTES = 1024 * 1024;
/** In them git keeps nothing but objects. */
const OBJECTS = /\/objects\/(?:[0-9a-f]{2}|pack|info)$/u;

/**
 * Looks through a workspace for repositories of every kind (ordinary, nested, bare, work trees, submodules, such as have
 * no content yet) and reads what tells git to run programs: settings, hooks, and files that say where the repository
 * lies. Shallow folders first. `workspace` is a real path; links to folders are not followed but where git follows them.
 */
export async function readGitFiles(workspace: string): Promise<GitFiles> {
  const { repositories, pointers, complete } = await findRepositories(workspace);
  const files = new Map<string, GitFile>();
  const seen = new Set<string>();
  const queue = [...repositories];
  const keep = async (path: string, runs: (text: string, mode: number) => readonly string[]): Promise<void> => {
    const file = await readOne(path, runs);
    if (file !== undefined) files.set(path, file);
  };
  /** Where git goes on; what is inside the workspace is read as a repository, what is outside counts as running something. */
  const leadsTo = async (path: string, target: string): Promise<readonly string[]> => {
    const place = resolve(dirname(path), target);
    const real = await realpath(place).catch(() => place);
    if (!within(workspace, real)) return [`leads git to ${target}`];
    queue.push(real);
    return [];
  };
  const follow = async (path: string, textOf: (text: string) => string): Promise<void> => {
    const file = await readOne(path, () => []);
    if (file === undefined) return;
    const target = 'link' in file.content ? file.content.link : textOf(file.content.bytes.toString('utf8'));
    files.set(path, { ...file, runs: await leadsTo(path, target) });
  };
  for (const path of pointers) await follow(path, (text) => text.replace(/^gitdir:/u, '').trim());
  for (let at = 0; at < queue.length; at += 1) {
    const folder = queue[at] ?? workspace;
    if (seen.has(folder)) continue;
    seen.add(folder);
    await follow(join(folder, 'commondir'), (text) => text.trim());
    for (const name of ['config', 'config.worktree']) await keep(join(folder, name), settingsThatRun);
    const hooks = join(folder, 'hooks');
    const link = await readlink(hooks).catch(() => undefined);
    if (link !== undefined) files.set(hooks, { content: { link }, runs: [`leads git to the hooks in ${link}`] });
    else for (const name of await hookNames(hooks)) await keep(join(hooks, name), hookRuns);
  }
  return { files, complete };
}

interface Found {
  readonly repositories: readonly string[];
  /** Files and links named `.git`. */
  readonly pointers: readonly string[];
  readonly complete: boolean;
}

async function findRepositories(workspace: string): Promise<Found> {
  const repositories: string[] = [];
  const pointers: string[] = [];
  const queue = [workspace];
  let at = 0;
  const visit = async (): Promise<void> => {
    const folder = queue[at];
    if (folder === undefined) return;
    at += 1;
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
    const names = new Set<string>();
    for (const entry of entries) {
      names.add(entry.name);
      const path = `${folder}/${entry.name}`;
      const isGit = entry.name.toLowerCase() === '.git';
      if (!entry.isDirectory()) {
        if (isGit) pointers.push(path);
        continue;
      }
      if (isGit) repositories.push(path);
      if (queue.length < MOST_FOLDERS && !OBJECTS.test(path)) queue.push(path);
    }
    // What git takes for a repository wherever it lies.
    const isBare = names.has('HEAD') && ((names.has('objects') && names.has('refs')) || names.has('commondir'));
    if (isBare && basename(folder).toLowerCase() !== '.git') repositories.push(folder);
  };
  while (at < queue.length) await Promise.all(Array.from({ length: AT_ONCE }, visit));
  return { repositories, pointers, complete: queue.length < MOST_FOLDERS };
}

async function hookNames(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch(() => []);
  return names.filter((name) => !name.endsWith('.sample'));
}

/** Undefined where there is neither a file nor a link. */
async function readOne(
  path: string,
  runs: (text: string, mode: number) => readonly string[],
): Promise<GitFile | undefined> {
  try {
    await using handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const facts = await handle.stat();
    if (!facts.isFile()) return undefined;
    const { mode, size } = facts;
    const isLong = size > LONGEST_BYTES;
    const bytes = isLong ? Buffer.alloc(0) : await handle.readFile();
    const says = isLong ? [`is too long to be read (${size} bytes)`] : runs(bytes.toString('utf8'), mode);
    return { content: { bytes, mode: mode & 0o777 }, runs: says };
  } catch (error) {
    const link = await readlink(path).catch(() => undefined);
    if (link !== undefined) return { content: { link }, runs: [`is a link to ${link}`] };
    if (['ENOENT', 'ENOTDIR', 'ENXIO'].includes(errorCode(error) ?? '')) return undefined;
    return { content: { bytes: Buffer.alloc(0), mode: 0o600 }, runs: ['cannot be read'] };
  }
}

function settingsThatRun(text: string): readonly string[] {
  const settings = readGitSettings(text);
  if (settings === null) return [`cannot be understood: ${text}`];
  return settings.filter(makesGitRun).map(({ key, value }) => `${key} = ${value}`);
}

/** Git runs only what may be executed. */
function hookRuns(text: string, mode: number): readonly string[] {
  return (mode & 0o111) === 0 ? [] : [text];
}
