import { basename, dirname, join } from 'node:path';
import { othersFirst } from '../../util/wake.ts';
import { makesGitRun, readGitSettings } from './settings.ts';
import { readable, Tree, toBytes } from './tree.ts';

/** Something that git would run, or a place outside the workspace that it would follow. */
export interface GitFinding {
  /** Below the workspace, for people. */
  readonly path: string;
  /** The setting, the hook's text, or where git is led. */
  readonly what: string;
}

export interface GitJudgement {
  /** Real path of the workspace, which still is as it was before the command. */
  readonly workspace: string;
  /** Where the workspace as the command left it can be read. */
  readonly after: string;
  /** All changed paths, relative to the workspace. */
  readonly changed: readonly Buffer[];
  readonly signal: AbortSignal;
}

/** What git would run in a folder tree, by path. */
class Findings {
  readonly all = new Map<string, Set<string>>();
  /** Paths that couldn't be read, so that a change of their content doesn't show. */
  readonly opaque = new Set<string>();

  add(path: string, what: string): void {
    this.all.set(path, (this.all.get(path) ?? new Set()).add(what));
  }

  addOpaque(path: string, what: string): void {
    this.add(path, what);
    this.opaque.add(path);
  }
}

/** Beyond this many folders the search ends, which is a finding. */
const MOST_FOLDERS = 200_000;
/** The walk yields to the event loop after this many ms. */
const SLICE_MS = 5;
/** Words of a setting's value that are looked up as files. */
const MOST_WORDS = 64;

/**
 * Finds what a command's changes would newly make git run, or follow out of the workspace. Git may later be started in any
 * folder, so every folder that git would take for a repository counts. What can't be read or parsed is a finding. Rejects with
 * the signal's reason.
 */
export async function judgeGit(options: GitJudgement): Promise<readonly GitFinding[]> {
  const { workspace, after, changed, signal } = options;
  if (changed.length === 0) return [];
  const now = await findingsOf(new Tree(workspace, after), signal);
  if (now.all.size === 0) return [];
  const before = await findingsOf(new Tree(workspace), signal);
  const root = toBytes(workspace);
  const paths = new Set(changed.map((path) => join(root, path.toString('latin1'))));
  const above = new Set([...paths].flatMap((path) => selfAndAbove(path, root)));
  const isTouched = (path: string): boolean =>
    above.has(path) || selfAndAbove(path, root).some((folder) => paths.has(folder));
  return [...now.all].flatMap(([path, whats]) =>
    [...whats]
      .filter((what) => before.all.get(path)?.has(what) !== true || (now.opaque.has(path) && isTouched(path)))
      .map((what) => ({ path: readable(path.slice(root.length + 1)) || '.', what: readable(what) })),
  );
}

/** Walks a tree in slices. */
async function findingsOf(tree: Tree, signal: AbortSignal): Promise<Findings> {
  const search = new Search(tree);
  const steps = search.run();
  for (;;) {
    signal.throwIfAborted();
    const until = performance.now() + SLICE_MS;
    for (let step = steps.next(); ; step = steps.next()) {
      if (step.done === true) return search.findings;
      if (performance.now() > until) break;
    }
    await othersFirst();
  }
}

class Search {
  readonly findings = new Findings();
  readonly #tree: Tree;
  /** Repositories, each with a folder that git takes relative paths of its settings from: a work tree. */
  readonly #repositories: [folder: string, base: string][] = [];

  constructor(tree: Tree) {
    this.#tree = tree;
  }

  /** One folder or repository per step. */
  *run(): Generator<undefined, void> {
    const { workspace } = this.#tree;
    const folders = [workspace];
    /** The repository that each folder is part of. */
    const roots = new Map<string, string>();
    for (const folder of folders) {
      const entries = this.#list(folder);
      const names = new Set(entries.map(({ name }) => name));
      const isGit = folder !== workspace && isGitName(basename(folder));
      const isBare = names.has('HEAD') && ((names.has('objects') && names.has('refs')) || names.has('commondir'));
      if (isGit || isBare) this.#repositories.push([folder, isGit ? dirname(folder) : folder]);
      const root = roots.get(folder) ?? (isGit || isBare ? folder : undefined);
      for (const { name, kind } of entries) {
        const path = `${folder}/${name}`;
        if (kind === 'folder') {
          if (root !== undefined) roots.set(path, root);
          folders.push(path);
        } else if (isGitName(name)) this.#follow(path, /^gitdir: ?/u, folder);
        else if (kind === 'link' && root !== undefined) this.#linkInside(path, root);
      }
      if (folders.length > MOST_FOLDERS) {
        this.findings.addOpaque(workspace, `holds more than ${MOST_FOLDERS} folders, so not all were searched`);
        break;
      }
      yield;
    }
    const seen = new Set<string>();
    for (const [folder, base] of this.#repositories) {
      const key = `${folder}\0${base}`;
      if (seen.has(key)) continue;
      seen.add(key);
      this.#repository(folder, base);
      yield;
    }
  }

  #repository(folder: string, base: string): void {
    this.#follow(join(folder, 'commondir'), null, base);
    const read = new Set<string>();
    for (const name of ['config', 'config.worktree']) this.#settings(join(folder, name), { folder, base, read });
    this.#hooks(join(folder, 'hooks'));
    // Git also looks up remotes by name here.
    this.#remotes(join(folder, 'remotes'), base, (text) =>
      [...text.matchAll(/^URL:[ \t]*(.*)/gmu)].map(([, url = '']) => url),
    );
    this.#remotes(join(folder, 'branches'), base, (text) => [text.replace(/[#\n][^]*$/u, '')]);
    for (const { name } of this.#list(join(folder, 'worktrees')))
      this.#places(join(folder, 'worktrees', name, 'gitdir'), join(folder, 'worktrees', name));
    this.#places(join(folder, 'objects', 'info', 'alternates'), join(folder, 'objects'));
    this.#lines(join(folder, 'rebase-merge', 'git-rebase-todo'), (line) => /^[ \t]*(?:x|exec)[ \t]/u.test(line));
  }

  /** Reads where a `.git` or `commondir` leads, as a file with that text or as a link. */
  #follow(path: string, prefix: RegExp | null, base: string): void {
    const link = this.#tree.link(path);
    const text = link ?? this.#read(path)?.replace(prefix ?? '', '');
    if (text === undefined) return;
    const place = text.split('\0', 1)[0]?.replace(/[\r\n]+$/u, '') ?? '';
    const target = this.#tree.resolve(dirname(path), place);
    if (target === null || !this.#tree.isInside(target)) this.findings.add(path, `leads git to ${place}`);
    else this.#repositories.push([target, base]);
  }

  /** Git writes through links in a repository: its index, its logs, its references. */
  #linkInside(path: string, root: string): void {
    const target = this.#tree.resolve(dirname(path), basename(path));
    if (target !== null && (target === root || target.startsWith(`${root}/`))) return;
    this.findings.add(path, `leads git to ${this.#tree.link(path) ?? 'another place'}`);
  }

  #settings(path: string, place: { readonly folder: string; readonly base: string; readonly read: Set<string> }): void {
    const { folder, base, read } = place;
    const real = this.#real(path);
    if (real === null || read.has(real)) return;
    read.add(real);
    const text = this.#read(real);
    if (text === undefined) return;
    const settings = readGitSettings(text);
    if (settings === null) return this.findings.add(real, `can't be understood: ${text}`);
    const inside = (from: string, value: string): string | null => {
      const target = value.startsWith('~') ? null : this.#tree.resolve(from, value);
      return target !== null && this.#tree.isInside(target) ? target : null;
    };
    for (const { key, value } of settings) {
      // Git takes a work tree relative to the repository, and everything else relative to where it works.
      const isTree = key === 'core.worktree';
      if (isTree) {
        const tree = inside(folder, value);
        if (tree !== null) this.#repositories.push([folder, tree]);
      }
      if (!makesGitRun({ key, value }, (named) => inside(isTree ? folder : base, named) === null)) continue;
      this.findings.add(real, `${key} = ${value}`);
      if (/^include(?:if\..+)?\.path$/su.test(key)) {
        const included = inside(dirname(real), value);
        if (included !== null) this.#settings(included, place);
        continue;
      }
      const hooks = key === 'core.hookspath' ? inside(base, value) : null;
      if (hooks !== null) this.#hooks(hooks);
      for (const word of value.split(/[\s'"`;|&()<>=!]+/u).slice(0, MOST_WORDS)) {
        const named = word === '' ? null : inside(base, word);
        if (named !== null) this.#program(named, 0o111);
      }
    }
  }

  #hooks(folder: string): void {
    const real = this.#real(folder);
    if (real === null) return;
    for (const { name } of this.#list(real)) if (!name.endsWith('.sample')) this.#program(join(real, name));
  }

  /** A file counts as a program where git may execute it. `mode`: instead of the file's own. */
  #program(path: string, mode?: number): void {
    const real = this.#real(path);
    const file = real === null ? undefined : this.#tree.read(real);
    if (real === null || file === undefined || ((mode ?? file.mode) & 0o111) === 0) return;
    if (file.text === null) this.findings.addOpaque(real, file.problem);
    else this.findings.add(real, file.text);
  }

  #remotes(folder: string, base: string, urlsIn: (text: string) => readonly string[]): void {
    for (const { name } of this.#list(folder)) {
      const real = this.#real(join(folder, name));
      for (const url of urlsIn((real === null ? undefined : this.#read(real)) ?? '').map((one) => one.trim())) {
        const leadsOut = (place: string): boolean => {
          const target = this.#tree.resolve(base, place);
          return place.startsWith('~') || target === null || !this.#tree.isInside(target);
        };
        if (makesGitRun({ key: 'remote.old.url', value: url }, leadsOut))
          this.findings.add(join(folder, name), `leads git to ${url}`);
      }
    }
  }

  /** Lines that name places. */
  #places(path: string, from: string): void {
    this.#lines(path, (line) => {
      const target = this.#tree.resolve(from, line);
      return line !== '' && (target === null || !this.#tree.isInside(target));
    });
  }

  #lines(path: string, isFinding: (line: string) => boolean): void {
    for (const line of (this.#read(path) ?? '').split(/\r?\n/u)) if (isFinding(line)) this.findings.add(path, line);
  }

  /** The real path of what may be a link; null where it leads out of the workspace, which is a finding. */
  #real(path: string): string | null {
    const link = this.#tree.link(path);
    const real = this.#tree.resolve(dirname(path), basename(path));
    if (link !== undefined) this.findings.add(path, `is a link to ${link}`);
    return real !== null && this.#tree.isInside(real) ? real : null;
  }

  /** The text of a regular file. Undefined where there is none, or it can't be read, which is a finding. */
  #read(path: string): string | undefined {
    const file = this.#tree.read(path);
    if (file?.text === null) this.findings.addOpaque(path, file.problem);
    return file?.text ?? undefined;
  }

  #list(folder: string): ReturnType<Tree['list']> & object {
    const entries = this.#tree.list(folder);
    if (entries === null) this.findings.addOpaque(folder, "can't be listed, so git may find a repository in it");
    return entries ?? [];
  }
}

function isGitName(name: string): boolean {
  return name.toLowerCase() === '.git';
}

/** A path and all folders above it up to `root`. */
function selfAndAbove(path: string, root: string): readonly string[] {
  const paths = [path];
  for (let at = path; at !== root && at !== '/'; at = dirname(at)) paths.push(dirname(at));
  return paths;
}
