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
  /** The assistant's home: configuration, state, secrets. */
  readonly home: string;
  /** The home of the main assistant that `home` lies in; of it only `home` can be open. @default it lies in none */
  readonly host?: string;
  readonly readRoots: readonly string[];
  /** Those that the caller may change too; never inside the home. @default none */
  readonly ownRoots?: readonly string[];
  readonly restrictToWorkspace: boolean;
  /** Names with a meaning that are links, see `linksOf`. @default none */
  readonly links?: readonly PlaceLink[];
}

/** A link: a file below `real` is also judged as if it lay below `place`. */
export interface PlaceLink {
  readonly place: string;
  readonly real: string;
}

/** Names in the assistant's home that no tool may touch, even if a read root contains them. */
const STATE = new Set([
  'agents',
  'config.json',
  'state.db',
  'search.db',
  'sessions',
  'gateway.token',
  'service.env',
  'secrets',
  'bin',
  'mcp-pins.json',
  'skill-pins.json',
  'plugin-pins.json',
  'editors.json',
  'audit.jsonl',
  'lock',
  'control.sock',
  'quarantine',
  'backups',
  'prompts',
  'versions',
  'logs',
  'terminal-history.jsonl',
  'plugins',
  'sandbox',
  'browser',
]);
const STATE_DATABASE = /^(?:state|search)\.db/;
/** Folders shared by all sessions: a caller may at most read its own session's folder in them. */
const SESSION_FOLDERS = new Set(['spill', 'media']);
const KERNEL_ROOTS = ['/proc', '/sys', '/dev'];

/** Decides about a real path without any I/O. Names are compared as the most lenient file systems compare them. */
export function decidePath(path: string, access: PathAccess, caller: PathCaller, roots: PathRoots): PathDecision {
  if (KERNEL_ROOTS.some((root) => within(root, path))) {
    return deny(`${path} belongs to the system (/proc, /sys, /dev) and is not open to tools.`);
  }
  const paths = [path, ...otherPaths(path, roots)];
  if (paths.some((place) => isState(place, caller, roots))) {
    return deny(`${path} is part of the assistant's own configuration or state, which no tool may touch.`);
  }
  const readRoot = roots.readRoots.find((root) => within(root, path));
  const isOwn = within(roots.workspace, path) || (roots.ownRoots ?? []).some((root) => within(root, path));
  if (roots.restrictToWorkspace && !isOwn && (access === 'write' || readRoot === undefined)) {
    const readable = readRoot === undefined ? '' : ' for writing';
    const setting = access === 'write' ? 'tools.restrictToWorkspace' : 'tools.readRoots';
    return deny(`${path} is outside the workspace ${roots.workspace}, which ${setting} does not allow${readable}.`);
  }
  const decisions = paths.map((place) => decidePlace(place, path, access, caller, roots));
  return (
    decisions.find(({ decision }) => decision === 'deny') ??
    decisions.find(({ decision }) => decision === 'ask') ?? { decision: 'allow', path }
  );
}

/** The other paths by which a file is reached through the given links. */
export function otherPaths(path: string, { links = [] }: Pick<PathRoots, 'links'>): string[] {
  return links.filter(({ real }) => within(real, path)).map(({ place, real }) => join(place, relative(real, path)));
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

/** Paths of the home that are always closed, for comparing inodes. */
export function statePaths(home: string): string[] {
  const databases = ['state.db', 'search.db'].flatMap((name) => [`${name}-wal`, `${name}-shm`]);
  return [...STATE, ...databases].map((name) => join(home, name));
}

/** The folders of the assistant, and of the one that it lies in, whose files are closed under every name. */
export function closedPlaces({ home, host, workspace }: PathRoots): readonly string[] {
  if (host !== undefined) return [host];
  return home === workspace ? statePaths(home) : [home];
}

/** The folders among those that are open all the same. */
export function openedPlaces({ home, host, workspace, readRoots }: PathRoots): ReadonlySet<string> {
  return new Set([workspace, ...(host === undefined ? readRoots : readRoots.filter((root) => within(home, root)))]);
}

/** Names of files and folders in the home that these rules mention. */
export function homeNames(): readonly string[] {
  return [...STATE, ...SESSION_FOLDERS];
}

/**
 * Whether a path belongs to the assistant's state, which this caller may not touch at all: everything in the home
 * except the workspace and read roots. The names in `STATE` stay closed even there.
 */
export function isState(path: string, caller: PathCaller, { home, host, workspace, readRoots }: PathRoots): boolean {
  const inside = namesBelow(home, path);
  if (inside === undefined && host !== undefined && namesBelow(host, path) !== undefined) return true;
  if (inside === undefined) return false;
  const [first = ''] = inside;
  if (STATE.has(first) || STATE_DATABASE.test(first)) return true;
  const own = SESSION_FOLDERS.has(first) && !seesPrivate(caller) ? join(home, first) : home;
  if (own === home && within(home, workspace) && within(workspace, path)) return false;
  return !readRoots.some((root) => root !== own && within(own, root) && within(root, path));
}

/** The folded names of a path below a root, which may be written in another case; undefined outside of it. */
function namesBelow(root: string, path: string): readonly string[] | undefined {
  const above = partsOf(root);
  const parts = partsOf(path);
  return above.every((part, i) => parts[i] === part) ? parts.slice(above.length) : undefined;
}

function partsOf(path: string): readonly string[] {
  return path.split(sep).filter(Boolean).map(folded);
}

function decidePlace(
  place: string,
  path: string,
  access: PathAccess,
  caller: PathCaller,
  { paths, workspace, readRoots, ownRoots = [] }: PathRoots,
): PathDecision {
  const inWorkspace = within(workspace, place);
  const open = access === 'read' ? [...ownRoots, ...readRoots] : ownRoots;
  const root = inWorkspace ? workspace : open.find((one) => within(one, place));
  const parts = root === undefined ? ['', ...partsOf(place)] : partsOf(relative(root, place));
  const decision = inWorkspace ? decideInWorkspace(path, parts, access, { ...caller, ...paths }) : undefined;
  if (decision !== undefined) return decision;
  if (
    access === 'write' &&
    !inWorkspace &&
    ownRoots.some((one) => within(one, place)) &&
    protectedAs(parts) === 'bootstrap' &&
    parts.includes('.git')
  ) {
    return { decision: 'ask', path, reason: `${basename(path)} makes git run other programs` };
  }
  const kind = secretKind(parts) ?? (access === 'read' ? shellStartKind(parts) : startKind(parts));
  return kind === undefined
    ? { decision: 'allow', path }
    : { decision: 'ask', path, reason: `${basename(path)} ${kind}` };
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
