import { basename, isAbsolute, join, relative, sep } from 'node:path';
import type { Role } from '../../bus/messages.ts';
import { seesPrivate } from '../access/access.ts';
import { folded, protectedAs, secretKind, shellStartKind, startKind } from './names.ts';
import { taintDecision } from '../access/taint.ts';

/** The person on whose behalf a path is opened. */
export interface PathCaller {
  readonly role: Role;
  /** The owner's private files are only open in a direct chat, not in a group or an unknown chat. */
  readonly chatType?: 'direct' | 'group' | null;
  /** `channel:id` of the sender: a webhook never sees the owner's private files. */
  readonly who?: string | null;
  /** Further folders that only this caller may read, such as those of its session. */
  readonly readRoots?: readonly string[];
  /** Folders outside of the home that only this caller may read and change, such as the project of its editor. */
  readonly roots?: readonly string[];
  readonly taint: { readonly untrusted: boolean; readonly source?: string };
}

export type PathAccess = 'read' | 'write';

export type PathDecision =
  | { readonly decision: 'allow'; /** The real path. */ readonly path: string }
  | { readonly decision: 'ask'; readonly path: string; readonly reason: string }
  | { readonly decision: 'deny'; readonly reason: string };

/** Places in the workspace that have a meaning for an extension, also while it is switched off. Names in lower case. */
export interface OwnPaths {
  /** Folders; commands in the sandbox cannot change them. */
  readonly folders: readonly string[];
  /** Files that tools may read but not write, each with the sentence that says why. */
  readonly closed: Readonly<Record<string, string>>;
}

/** Real paths, without links. */
export interface PathRoots {
  readonly paths: OwnPaths;
  readonly workspace: string;
  /** The outermost home of an assistant that the workspace belongs to: configuration, state, secrets. */
  readonly home: string;
  /** Folders that the caller may read, among them those of its session in the home. */
  readonly readRoots: readonly string[];
  /** Those that the caller may change too; never inside the home. @default none */
  readonly ownRoots?: readonly string[];
  readonly restrictToWorkspace: boolean;
  /** Places of the workspace that are links and mean something by their names, with where they lead. @default none */
  readonly aliases?: readonly { readonly place: string; readonly real: string }[];
}

/** Folders in the home in which a session may read a folder of its own, or one with the skills of a package. */
const SESSION_FOLDERS = ['spill', 'media', 'plugins'];

/** Whether a session may read what it names as its own: nothing of a home but that. Real paths; `host`: the outermost home. */
export function mayBeSessions(root: string, { home, host }: { readonly home: string; readonly host: string }): boolean {
  return !within(host, root) || SESSION_FOLDERS.some((name) => within(join(home, name), root));
}
const KERNEL_ROOTS = ['/proc', '/sys', '/dev'];

/**
 * Decides about a real path without any I/O. Names are compared as the most lenient file systems compare them. `named`:
 * the place in the workspace by which a link was reached; what is protected there stays protected behind the link.
 */
export function decidePath(
  path: string,
  access: PathAccess,
  caller: PathCaller,
  roots: PathRoots,
  named: string = path,
): PathDecision {
  if (KERNEL_ROOTS.some((root) => within(root, path))) {
    return deny(`${path} belongs to the system (/proc, /sys, /dev) and is not open to tools.`);
  }
  if (isState(path, access, roots)) {
    return deny(`${path} is part of the assistant's own configuration or state, which no tool may touch.`);
  }
  const { workspace, readRoots, ownRoots = [], paths, aliases = [] } = roots;
  const readRoot = readRoots.find((root) => within(root, path));
  const inWorkspace = within(workspace, path);
  const ownRoot = ownRoots.find((root) => within(root, path));
  const isOwn = inWorkspace || ownRoot !== undefined;
  if (roots.restrictToWorkspace && !isOwn && (access === 'write' || readRoot === undefined)) {
    const readable = readRoot === undefined ? '' : ' for writing';
    const setting = access === 'write' ? 'tools.restrictToWorkspace' : 'tools.readRoots';
    return deny(`${path} is outside the workspace ${workspace}, which ${setting} does not allow${readable}.`);
  }
  const meant = aliases.flatMap(({ place, real }) => (within(real, path) ? join(place, relative(real, path)) : []));
  const special = [...new Set([path, named, ...meant])].flatMap((place) => {
    if (!within(workspace, place)) return [];
    return decideInWorkspace(path, partsOf(relative(workspace, place)), access, { ...caller, ...paths }) ?? [];
  });
  const [first] = special;
  if (first !== undefined) return special.find(({ decision }) => decision === 'deny') ?? first;
  const root = inWorkspace ? workspace : (ownRoot ?? (access === 'read' ? readRoot : undefined));
  const parts = root === undefined ? ['', ...partsOf(path)] : partsOf(relative(root, path));
  const isGit = protectedAs(parts) === 'bootstrap' && parts.includes('.git');
  if (access === 'write' && !inWorkspace && ownRoot !== undefined && isGit) {
    return { decision: 'ask', path, reason: `${basename(path)} makes git run other programs` };
  }
  const kind = secretKind(parts) ?? (access === 'read' ? shellStartKind(parts) : startKind(parts));
  return kind === undefined
    ? { decision: 'allow', path }
    : { decision: 'ask', path, reason: `${basename(path)} ${kind}` };
}

/** A path that is relative, or in which a name is empty, `.` or `..`. */
const UNRESOLVED = /^(?!\/)|\/\.{0,2}(?:\/|$)/;

/** Whether `path` is `root` or lies below it. */
export function within(root: string, path: string): boolean {
  // Nearly all paths are like that, and this is called some hundred times for each tool call.
  if (sep === '/' && !UNRESOLVED.test(root) && !UNRESOLVED.test(path)) {
    return path.startsWith(root) && (path.length === root.length || path[root.length] === sep);
  }
  const rest = relative(root, path);
  return rest === '' || (rest !== '..' && !rest.startsWith(`..${sep}`) && !isAbsolute(rest));
}

/** Everything in the home is closed but the workspace and, for reading, the folders of the session. */
function isState(path: string, access: PathAccess, { home, workspace, readRoots }: PathRoots): boolean {
  if (!isBelow(home, path)) return false;
  const open = access === 'read' ? [workspace, ...readRoots] : [workspace];
  return !open.some((root) => root !== home && within(home, root) && within(root, path));
}

/** As `within`, also where the root is written in another case. */
function isBelow(root: string, path: string): boolean {
  const parts = partsOf(path);
  return partsOf(root).every((part, i) => parts[i] === part);
}

function partsOf(path: string): readonly string[] {
  return path.split(sep).filter(Boolean).map(folded);
}

function decideInWorkspace(
  path: string,
  parts: readonly string[],
  access: PathAccess,
  caller: PathCaller & Pick<OwnPaths, 'closed'>,
): PathDecision | undefined {
  const [first = ''] = parts;
  if (!seesPrivate(caller) && (first === 'memory' || (first === 'user.md' && parts.length === 1))) {
    return deny(`${basename(path)} is private to the owner.`);
  }
  if (access === 'read') return undefined;
  const closed = Object.keys(caller.closed).find((one) => `${parts.join('/')}/`.startsWith(`${one}/`));
  if (closed !== undefined) return deny(caller.closed[closed] ?? '');
  const target = protectedAs(parts);
  if (target === undefined) return undefined;
  if (caller.role !== 'owner') {
    const reason = `${basename(path)} shapes what the assistant does, and only the owner may change it`;
    return { decision: 'ask', path, reason };
  }
  const decision = taintDecision({
    taint: { private: true, ...caller.taint },
    action: { kind: 'lasting-write', target },
  });
  return decision.decision === 'allow' ? undefined : { ...decision, path };
}

function deny(reason: string): PathDecision {
  return { decision: 'deny', reason };
}
