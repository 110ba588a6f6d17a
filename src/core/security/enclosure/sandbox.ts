import { lstat, mkdir, open, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import type { Role } from '../../bus/messages.ts';
import { AppError, errorCode } from '../../util/errors.ts';
import { mayBeSessions, within } from '../paths/rules.ts';
import type { Enclosure, Mount } from './enclosure.ts';
import { removeLimitGroup } from './limit-group.ts';
import { probeSandbox, type ProbeOptions, type SandboxProbe } from './probe.ts';

export interface SandboxOptions extends ProbeOptions {
  /** Folders of the workspace that commands cannot change, beside those of the core. */
  readonly protectedFolders: readonly string[];
  /** The assistant's home; nothing of it is visible inside but the workspace and read roots that lie in it. */
  readonly home: string;
  /** The home of the main assistant that `home` lies in, not visible either; null: it lies in none. @default null */
  readonly host?: string | null;
  readonly workspace: string;
  /** What every command may read beside the workspace: skill folders, `tools.readRoots`. Missing ones are left out. */
  readonly readRoots: readonly string[];
}

export interface EnclosureRequest {
  /** An existing folder in the workspace. */
  readonly cwd: string;
  /** For roles other than owner, `memory/` and `USER.md` are hidden. */
  readonly role: Role;
  /** @default false */
  readonly network?: boolean;
  /** What this command alone may read: its session's spill and media. */
  readonly readRoots?: readonly string[];
}

/** What encloses the commands of one home. */
export interface Sandbox extends AsyncDisposable {
  /** Whether it holds on this machine. Tested at the first call, and again after a test that took too long; never rejects. */
  probe(): Promise<SandboxProbe>;
  /**
   * What a command sees, for `runEnclosed(program, { ...enclosure, … })`. Throws `sandbox-unavailable`, `sandbox-place` or
   * `sandbox-folder` rather than let anything out.
   */
  enclose(request: EnclosureRequest): Promise<Enclosure>;
}

/** What commands cannot write. */
const FILES = ['SOUL.md', 'AGENTS.md', 'USER.md', 'TOOLS.md', 'HEARTBEAT.md'];
const FOLDERS = ['memory', 'skills'];
/** What commands can't write, of the core; changes to it need approval where a view lets them happen. */
export const PROTECTED_PLACES: readonly string[] = [...FILES, ...FOLDERS];
/** Credentials directly in a read root. */
const SECRETS = '.ssh .aws .gnupg .kube .netrc .npmrc .pypirc .pgpass .git-credentials .env'.split(' ');
/** Places of the system's own; a read root over them would undo the isolation. */
const RESERVED = new Set(['/', '/etc', '/tmp', '/run']);
const KERNEL = ['/proc', '/sys', '/dev'];

/** Commands enclosed by bubblewrap. Nothing is tested or made before the first call. */
export function createSandbox(options: SandboxOptions): Sandbox {
  let probing: Promise<SandboxProbe> | undefined;
  const probe = (): Promise<SandboxProbe> =>
    (probing ??= probeSandbox(options).then((found) => {
      if (!found.available && found.late === true) probing = undefined;
      return found;
    }));
  return {
    probe,
    async enclose({ cwd, role, network = false, readRoots = [] }) {
      const found = await probe();
      if (!found.available) throw new AppError('sandbox-unavailable', found.reason);
      const workspace = await realpath(options.workspace);
      if (!within(workspace, await realpath(cwd))) {
        throw new AppError('sandbox-folder', `${cwd} is outside the workspace; commands start only inside it.`);
      }
      const empty = join(found.engine.folder, 'empty');
      const mounts = [
        ...(await rootMounts([...options.readRoots, ...readRoots], options, empty)),
        ...(await workspaceMounts(workspace, options.protectedFolders, role === 'owner' ? null : empty)),
      ];
      return { engine: found.engine, mounts, network };
    },
    async [Symbol.asyncDispose]() {
      const found = await probing;
      if (found?.available === true && found.engine.group !== null) await removeLimitGroup(found.engine.group);
    },
  };
}

/**
 * Read roots: first the ones that contain the assistant's home, then the hidden home, then the ones in it; over them what holds
 * credentials.
 */
async function rootMounts(
  paths: readonly string[],
  options: Pick<SandboxOptions, 'home' | 'host' | 'workspace'>,
  empty: string,
): Promise<readonly Mount[]> {
  const home = await realpath(options.home);
  const host = options.host == null ? home : await realpath(options.host);
  const workspace = await realpath(options.workspace);
  const real = await Promise.all(paths.map((path) => realpath(path).catch(() => undefined)));
  const closed = [...KERNEL, workspace];
  const roots = [...new Set(real.filter((path) => path !== undefined))].filter(
    (root) =>
      !RESERVED.has(root) &&
      root !== home &&
      !closed.some((path) => within(path, root)) &&
      mayBeSessions(root, { home, host }),
  );
  const read = (path: string): Mount => ({ path, as: 'read', isOptional: true });
  const isInHome = (root: string): boolean => within(home, root);
  const secrets = await Promise.all(
    roots.flatMap((root) => SECRETS.map((name) => secretMount(join(root, name), empty))),
  );
  return [
    ...roots.filter((root) => !isInHome(root)).map(read),
    ...(roots.some((root) => within(root, host)) ? [{ path: host, as: 'hidden' } as const] : []),
    ...roots.filter(isInHome).map(read),
    ...secrets.flat(),
  ];
}

async function secretMount(path: string, empty: string): Promise<readonly Mount[]> {
  const facts = await lstat(path).catch(() => undefined);
  // What a link leads to is visible only if another root holds it.
  if (facts === undefined || facts.isSymbolicLink()) return [];
  return [facts.isDirectory() ? { path, as: 'hidden' } : { path, as: 'read', from: empty }];
}

/**
 * The workspace with its protected places. One that is a mount of its own can be neither removed nor moved, so nothing else can
 * take its name. What cannot be there yet cannot be mounted over, and a command could then make it: so missing files are made
 * empty and missing folders with them. `empty`: of what is the owner's alone nothing is seen but this file; null: it is for the
 * owner.
 *
 * A file that is replaced by renaming another over it, while a command runs, loses its protection in that command (the
 * kernel drops mounts on the replaced name): change the files in place, or while no command runs. Folders have no such gap.
 */
async function workspaceMounts(
  workspace: string,
  protectedFolders: readonly string[],
  empty: string | null,
): Promise<readonly Mount[]> {
  const at = (name: string): string => join(workspace, name);
  const held = async (path: string, kind: 'file' | 'folder', as: Mount['as'] = 'read'): Promise<Mount> => {
    await ensure(path, kind);
    if (empty === null || (path !== at('memory') && path !== at('USER.md'))) return { path, as };
    return kind === 'folder' ? { path, as: 'hidden' } : { path, as, from: empty };
  };
  return [
    { path: workspace, as: 'write' },
    ...(await Promise.all(FILES.map((name) => held(at(name), 'file')))),
    ...(await Promise.all([...FOLDERS, ...protectedFolders].map((name) => held(at(name), 'folder')))),
  ];
}

async function kindOf(path: string): Promise<'file' | 'folder' | 'link' | 'other' | undefined> {
  const facts = await lstat(path).catch((error: unknown) => {
    if (errorCode(error) !== 'ENOENT') throw error;
  });
  if (facts === undefined) return undefined;
  return facts.isSymbolicLink() ? 'link' : facts.isDirectory() ? 'folder' : facts.isFile() ? 'file' : 'other';
}

/** Makes a missing place. One that is a link, or of the wrong kind, cannot be held and throws `sandbox-place`. */
async function ensure(path: string, wanted: 'file' | 'folder'): Promise<void> {
  let kind = await kindOf(path);
  if (kind === undefined) {
    const making = wanted === 'folder' ? mkdir(path, { mode: 0o700 }) : open(path, 'wx', 0o600);
    const made = await making.catch((error: unknown) => {
      // Another command made it meanwhile.
      if (errorCode(error) !== 'EEXIST') throw error;
    });
    await made?.close();
    kind = await kindOf(path);
  }
  if (kind === wanted) return;
  const found = kind === 'link' ? 'a link' : kind === undefined ? 'gone again' : `a ${kind}`;
  throw new AppError(
    'sandbox-place',
    `${path} must be a ${wanted} so that the sandbox can protect it, but it is ${found}; put the ${wanted} itself there.`,
    { facts: { path } },
  );
}
