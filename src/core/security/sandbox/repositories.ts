import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  type Dirent,
} from 'node:fs';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { errorCode } from '../../util/errors.ts';
import { othersFirst } from '../../util/wake.ts';
import { makesGitRun, readGitSettings, type LeadsOut } from './git-settings.ts';
import { within } from '../paths/rules.ts';

/** One file of a repository with which git is told what to run. */
export interface GitFile {
  /** What git would run because of it, or where it leads git; none for a harmless file. */
  readonly runs: readonly string[];
  /** Its bytes, or where it leads as a link. */
  readonly content: { readonly bytes: Buffer; readonly mode: number } | { readonly link: string };
}

/** All of them in a workspace by their paths. */
export type GitFiles = ReadonlyMap<string, GitFile>;

/** What lies deeper than so many is not looked for. */
const MOST_FOLDERS = 100_000;
/** Longer files are not kept; they count as running something. */
const LONGEST_BYTES = 1024 * 1024;
/** Folders of a repository in which git also looks for a remote by its name, and how a file there names addresses. */
const OLD_REMOTES: readonly (readonly [string, (text: string) => readonly string[]])[] = [
  ['remotes', (text) => [...text.matchAll(/^URL:\s*(?<address>.*)/gmu)].map(({ groups }) => groups?.['address'] ?? '')],
  ['branches', (text) => [text.replace(/#[^]*$|\n[^]*$/u, '')]],
];
/** In them git keeps nothing but objects. */
const OBJECTS = /\/objects\/(?:[0-9a-f]{2}|pack|info)$/u;

/** The walk yields to the event loop after this many ms. */
const SLICE_MS = 5;

/**
 * Looks through a workspace for repositories of every kind (ordinary, nested, bare, work trees, submodules, such as
 * have no content yet) and reads what tells git to run programs: settings, hooks, and files that say where the
 * repository lies. Shallow folders first, and in any case the repositories of `known`. `workspace` is a real path;
 * links to folders are followed only where git follows them.
 */
export async function readGitFiles(workspace: string, known?: GitFiles): Promise<GitFiles> {
  const files = new Map<string, GitFile>();
  const steps = read(
    workspace,
    files,
    [...(known?.keys() ?? [])].map((path) => dirname(path)),
  );
  for (;;) {
    const until = performance.now() + SLICE_MS;
    for (let step = steps.next(); ; step = steps.next()) {
      if (step.done === true) return files;
      if (performance.now() > until) break;
    }
    await othersFirst();
  }
}

/** One folder a step, synchronously, which costs a fifth of handing each to another thread. */
function* read(workspace: string, files: Map<string, GitFile>, known: readonly string[]): Generator<undefined, void> {
  const repositories = known.filter((path) => realOf(path) === path);
  const folders = [workspace];
  /** The repository that a folder is a part of. */
  const roots = new Map<string, string>();
  for (let at = 0; at < folders.length; at += 1) {
    const folder = folders[at] ?? workspace;
    const names = new Set<string>();
    const inner: string[] = [];
    const links: string[] = [];
    for (const entry of entriesOf(folder)) {
      names.add(entry.name);
      const path = `${folder}/${entry.name}`;
      const isGit = entry.name.toLowerCase() === '.git';
      if (entry.isDirectory()) {
        if (isGit) {
          repositories.push(path);
          roots.set(path, path);
        } else inner.push(path);
        if (folders.length < MOST_FOLDERS && !OBJECTS.test(path)) folders.push(path);
      } else if (isGit) {
        follow(path, (text) => text.replace(/^gitdir:/u, '').trim());
      } else if (entry.isSymbolicLink()) links.push(path);
    }
    // What git takes for a repository wherever it lies.
    const isBare = names.has('HEAD') && ((names.has('objects') && names.has('refs')) || names.has('commondir'));
    if (isBare) repositories.push(folder);
    const root = roots.get(folder) ?? (isBare ? folder : undefined);
    if (root !== undefined) {
      for (const path of inner) roots.set(path, root);
      for (const path of links) keepLink(path, root);
    }
    yield;
  }
  const seen = new Set<string>();
  for (let at = 0; at < repositories.length; at += 1) {
    const folder = repositories[at] ?? workspace;
    if (seen.has(folder)) continue;
    seen.add(folder);
    follow(join(folder, 'commondir'), (text) => text.trim());
    for (const name of ['config', 'config.worktree']) {
      const path = join(folder, name);
      keep(path, (text) => settingsThatRun(text, leadsOutOf(workspace, path)));
    }
    const leadsOut = leadsOutOf(workspace, join(folder, 'config'));
    for (const [name, addressesIn] of OLD_REMOTES) {
      for (const entry of entriesOf(join(folder, name))) {
        keep(join(folder, name, entry.name), (text) => remotesThatRun(addressesIn(text), leadsOut));
      }
    }
    const hooks = join(folder, 'hooks');
    const link = linkAt(hooks);
    if (link !== undefined) files.set(hooks, { content: { link }, runs: [`leads git to the hooks in ${link}`] });
    else for (const { name } of entriesOf(hooks)) if (!name.endsWith('.sample')) keep(join(hooks, name), hookRuns);
    yield;
  }
  /** Git writes through links in a repository: its index, its logs, its references. */
  function keepLink(path: string, root: string): void {
    const link = linkAt(path);
    if (link === undefined || within(root, whereLeads(dirname(path), link))) return;
    files.set(path, { content: { link }, runs: [`leads git to ${link}`] });
  }
  function keep(path: string, runs: (text: string, mode: number) => readonly string[]): void {
    const file = readOne(path, runs);
    if (file !== undefined) files.set(path, file);
  }
  /**
   * Follows a `.git` or `commondir` file: inside the workspace it is read as a repository, outside it counts as running
   * a program.
   */
  function follow(path: string, textOf: (text: string) => string): void {
    const file = readOne(path, () => []);
    if (file === undefined) return;
    const target = 'link' in file.content ? file.content.link : textOf(file.content.bytes.toString('utf8'));
    const real = whereLeads(dirname(path), target);
    const isInside = within(workspace, real);
    if (isInside) repositories.push(real);
    files.set(path, { ...file, runs: isInside ? [] : [`leads git to ${target}`] });
  }
}

function entriesOf(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}

function linkAt(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}

function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/**
 * Where a place leads from a folder, as the system goes: `..` after a link leaves the folder that the link leads to. Ends at
 * a link that leads nowhere.
 */
function whereLeads(from: string, place: string): string {
  let path = isAbsolute(place) ? '/' : realOf(from);
  for (const part of place.split('/')) {
    path = realOf(part === '..' ? dirname(path) : join(path, part));
    if (linkAt(path) !== undefined) return path;
  }
  return path;
}

/** Undefined where there is neither a file nor a link. */
function readOne(path: string, runs: (text: string, mode: number) => readonly string[]): GitFile | undefined {
  let fd: number | undefined;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const facts = fstatSync(fd);
    if (!facts.isFile()) return undefined;
    const isLong = facts.size > LONGEST_BYTES;
    const bytes = isLong ? Buffer.alloc(0) : readFileSync(fd);
    const findings = isLong
      ? [`is too long to be read (${facts.size} bytes)`]
      : runs(bytes.toString('utf8'), facts.mode);
    return { content: { bytes, mode: facts.mode & 0o777 }, runs: findings };
  } catch (error) {
    const link = linkAt(path);
    if (link !== undefined) return { content: { link }, runs: [`is a link to ${link}`] };
    if (['ENOENT', 'ENOTDIR', 'ENXIO'].includes(errorCode(error) ?? '')) return undefined;
    return { content: { bytes: Buffer.alloc(0), mode: 0o600 }, runs: ['cannot be read'] };
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/** Whether the settings in the file `config` name places outside the workspace; links are followed. */
export function leadsOutOf(workspace: string, config: string): LeadsOut {
  const folder = dirname(config);
  return (place, key) => {
    if (place.startsWith('~')) return true;
    // Git takes a work tree relative to the repository, everything else relative to the folder that it works in.
    const base = key !== 'core.worktree' && basename(folder) === '.git' ? dirname(folder) : folder;
    const path = whereLeads(base, place);
    // A link that leads nowhere yet may lead anywhere later.
    return linkAt(path) !== undefined || !within(workspace, path);
  };
}

function settingsThatRun(text: string, leadsOut: LeadsOut): readonly string[] {
  const settings = readGitSettings(text);
  if (settings === null) return [`cannot be understood: ${text}`];
  return settings.filter((setting) => makesGitRun(setting, leadsOut)).map(({ key, value }) => `${key} = ${value}`);
}

function remotesThatRun(addresses: readonly string[], leadsOut: LeadsOut): readonly string[] {
  return addresses
    .map((address) => ({ key: 'remote.old.url', value: address.trim() }))
    .filter((setting) => makesGitRun(setting, leadsOut))
    .map(({ value }) => `leads git to ${value}`);
}

/** Git runs only what may be executed. */
function hookRuns(text: string, mode: number): readonly string[] {
  return (mode & 0o111) === 0 ? [] : [text];
}
