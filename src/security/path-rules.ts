import { basename, isAbsolute, join, relative, sep } from 'node:path';
import type { Role } from '../bus/messages.ts';
import { taintDecision, type LastingTarget } from './taint.ts';

/** On whose behalf a path is touched. */
export interface PathCaller {
  readonly role: Role;
  /** Folders that this caller alone may read beside the common ones, e.g. those of its session. */
  readonly readRoots?: readonly string[];
  readonly taint: { readonly untrusted: boolean };
}

export type PathAccess = 'read' | 'write';

export type PathDecision =
  | { readonly decision: 'allow'; /** The real path. */ readonly path: string }
  | { readonly decision: 'ask'; readonly path: string; readonly reason: string }
  | { readonly decision: 'deny'; readonly reason: string };

/** Real paths, without links. */
export interface PathRoots {
  readonly workspace: string;
  /** The assistant's home: configuration, state, secrets. */
  readonly home: string;
  readonly readRoots: readonly string[];
  readonly restrictToWorkspace: boolean;
}

/** What in the assistant's home belongs to no tool, whatever else is allowed. */
const STATE = new Set([
  'config.json',
  'state.db',
  'search.db',
  'sessions',
  'gateway.token',
  'audit.jsonl',
  'lock',
  'control.sock',
  'quarantine',
  'backups',
  'versions',
  'logs',
  'plugins',
  'sandbox',
]);
const STATE_DATABASE = /^(?:state|search)\.db/;
const KERNEL_ROOTS = ['/proc', '/sys', '/dev'];

const PROTECTED_FILES = new Set(['soul.md', 'agents.md', 'user.md', 'tools.md', 'heartbeat.md']);

const SECRET_FOLDERS = new Set(['.ssh', '.aws', '.gnupg', '.kube']);
const SECRET_FILES = new Set(['.netrc', '.npmrc', '.pypirc', '.pgpass', '.git-credentials', '.htpasswd']);
const KEY_FILE = /^id_(?:rsa|dsa|ecdsa|ecdsa_sk|ed25519|ed25519_sk)$|\.(?:pem|key|p12|pfx)$/;
const START_FILES = new Set([
  '.bashrc',
  '.bash_profile',
  '.bash_login',
  '.bash_logout',
  '.bash_aliases',
  '.profile',
  '.zshrc',
  '.zshenv',
  '.zprofile',
  '.zlogin',
  '.zlogout',
  '.kshrc',
  '.cshrc',
  '.tcshrc',
  '.login',
  'config.fish',
]);

/** Decides about a real path; touches nothing. Names are compared without case, as some file systems do. */
export function decidePath(path: string, access: PathAccess, caller: PathCaller, roots: PathRoots): PathDecision {
  if (KERNEL_ROOTS.some((root) => within(root, path))) {
    return deny(`${path} belongs to the system (/proc, /sys, /dev) and is not open to tools.`);
  }
  if (isState(path, roots)) {
    return deny(`${path} is part of the assistant's own configuration or state, which no tool may touch.`);
  }
  const inWorkspace = within(roots.workspace, path);
  const readRoot = roots.readRoots.find((root) => within(root, path));
  if (roots.restrictToWorkspace && !inWorkspace && (access === 'write' || readRoot === undefined)) {
    const readable = readRoot === undefined ? '' : ' for writing';
    return deny(`${path} is outside the workspace ${roots.workspace}, which is not allowed${readable}.`);
  }
  const root = inWorkspace ? roots.workspace : readRoot;
  const parts = (root === undefined ? path : relative(root, path)).toLowerCase().split(sep).filter(Boolean);
  if (inWorkspace) {
    const decision = decideInWorkspace(path, parts, access, caller);
    if (decision !== undefined) return decision;
  }
  const secret = secretKind(parts);
  if (secret !== undefined) return { decision: 'ask', path, reason: `${basename(path)} ${secret}` };
  return { decision: 'allow', path };
}

/** Whether `path` is `root` or lies below it. */
export function within(root: string, path: string): boolean {
  const rest = relative(root, path);
  return rest === '' || (rest !== '..' && !rest.startsWith(`..${sep}`) && !isAbsolute(rest));
}

/** Files and folders of the home that are closed in every case, for comparing inodes. */
export function statePaths(home: string): string[] {
  const databases = ['state.db', 'search.db'].flatMap((name) => [`${name}-wal`, `${name}-shm`]);
  return [...STATE, ...databases].map((name) => join(home, name));
}

function isState(path: string, { home, workspace, readRoots }: PathRoots): boolean {
  if (!within(home, path)) return false;
  const [first = ''] = relative(home, path).toLowerCase().split(sep);
  if (STATE.has(first) || STATE_DATABASE.test(first)) return true;
  const opened = [workspace, ...readRoots].some((root) => within(home, root) && within(root, path));
  return !opened;
}

function decideInWorkspace(
  path: string,
  parts: readonly string[],
  access: PathAccess,
  caller: PathCaller,
): PathDecision | undefined {
  const [first = '', second = ''] = parts;
  if (caller.role !== 'owner' && (first === 'memory' || (first === 'user.md' && parts.length === 1))) {
    return deny(`${basename(path)} is private to the owner.`);
  }
  if (access === 'read') return undefined;
  if (first === 'cron' && second === 'jobs.json') {
    return deny('cron/jobs.json is only changed with the cron tool.');
  }
  const target = protectedAs(parts);
  if (target === undefined) return undefined;
  if (caller.role !== 'owner') {
    const reason = `${basename(path)} shapes what the assistant does, and only the owner may change it`;
    return { decision: 'ask', path, reason };
  }
  const taint = { untrusted: caller.taint.untrusted, private: true };
  const decision = taintDecision({ taint, action: { kind: 'lasting-write', target } });
  return decision.decision === 'allow' ? undefined : { ...decision, path };
}

/** What a protected place in the workspace is; undefined for any other. */
function protectedAs(parts: readonly string[]): LastingTarget | undefined {
  const [first = ''] = parts;
  if (parts.length === 1 && PROTECTED_FILES.has(first)) return 'bootstrap';
  if (first === 'memory' || first === 'skills') return first;
  const isGits = parts.some((part, i) => part === '.git' && (parts[i + 1] === 'hooks' || parts[i + 1] === 'config'));
  return isGits ? 'bootstrap' : undefined;
}

function secretKind(parts: readonly string[]): string | undefined {
  const name = parts.at(-1) ?? '';
  if (parts.some((part) => SECRET_FOLDERS.has(part)) || SECRET_FILES.has(name)) return 'is a place for credentials';
  if (name.startsWith('.env') && name !== '.env.example') return 'usually holds secrets';
  if (KEY_FILE.test(name)) return 'looks like a private key';
  if (START_FILES.has(name)) return 'is run whenever a shell starts';
  return undefined;
}

function deny(reason: string): PathDecision {
  return { decision: 'deny', reason };
}
