import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, closeSync, mkdirSync, openSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { findProgram } from '../security/enclosure/enclosure.ts';
import type { Mount } from '../security/enclosure/enclosure.ts';
import { within } from '../security/paths/rules.ts';
import { sleep, type Clock } from '../util/clock.ts';
import { AppError, errorCode } from '../util/errors.ts';
import { statAt } from './tree.ts';

/** The folders of a copy-on-write view, and the moment of its start. */
export interface Layers {
  /** Holds `upper`, `work`, `merged` and `lower`; beside the workspace on the same mount. */
  readonly folder: string;
  /** Real path. */
  readonly workspace: string;
  /** In ns, by the clock of the workspace's file system. Later changes have a later ctime, which programs can't set. */
  readonly startNs: bigint;
  /** Wall clock minus monotonic clock, in ms, at least. When it shrinks, the clock was set back and ctimes mean nothing. */
  readonly offsetMs: number;
}

/** Relative layer names, because `,` `:` and `\` in a path would break the options. */
const MOUNT = `set -e; cd "$1"; mount --bind "$2" lower; mount -t overlay view -o "$3" merged; shift 3; exec "$@"`;
const WRITABLE = 'lowerdir=lower,upperdir=upper,workdir=work,userxattr';
/** The upper layer as the topmost lower one: this mount changes nothing. */
const READABLE = 'ro,lowerdir=upper:lower,userxattr';
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const PARTS = ['upper', 'work', 'merged', 'lower'] as const;
/** Before Linux 6.13 ctimes move in clock ticks of up to 10 ms. */
const TICK_MS = 10;

/** Makes the layers in a new folder. */
export async function makeLayers(folder: string, workspace: string, clock: Clock): Promise<Layers> {
  mkdirSync(folder, { mode: 0o700 });
  for (const part of PARTS) mkdirSync(join(folder, part), { mode: 0o700 });
  // The view's root shows the mode of `upper`.
  chmodSync(join(folder, 'upper'), statSync(workspace).mode & 0o7777);
  return { folder, workspace, startNs: await momentIn(folder, clock), offsetMs: offsetOf(clock).least };
}

/**
 * The current time of the file system that holds this folder: whatever changes after this resolves has a later ctime. Since Linux
 * 6.13 an inode gets a fine-grained time if its last one has been read, and later changes never get an earlier time than that.
 */
export async function momentIn(folder: string, clock: Clock): Promise<bigint> {
  const touched = (): bigint => {
    closeSync(openSync(join(folder, 'moment'), 'w', 0o600));
    return statAt(join(folder, 'moment'))?.ctimeNs ?? 0n;
  };
  touched();
  const at = touched();
  touched();
  if (hasTicks()) await sleep(clock, TICK_MS);
  return at;
}

/** Wall clock minus monotonic clock, in ms, as bounds: the process may be held up between two readings. */
export function offsetOf(clock: Clock): { readonly least: number; readonly most: number } {
  const before = clock.monotonic();
  const now = clock.now();
  return { least: now - clock.monotonic(), most: now - before };
}

function hasTicks(): boolean {
  const [major = 0, minor = 0] = readFileSync('/proc/sys/kernel/osrelease', 'latin1').split('.').map(Number);
  return major < 6 || (major === 6 && minor < 13);
}

/** The programs that a view needs, by name; a string is the name of a missing one. */
export function viewPrograms(): ReadonlyMap<string, string> | string {
  const found = new Map<string, string>();
  for (const name of ['setpriv', 'unshare', 'sync']) {
    const path = findProgram(name, '');
    if (path === undefined) return name;
    found.set(name, path);
  }
  return found;
}

const namespace = ({ folder, workspace }: Layers, options: string): readonly string[] => [
  ...'-U -r -m --propagation private sh -c'.split(' '),
  MOUNT,
  'sh',
  folder,
  workspace,
  options,
];

/** Mounts the view, then execs the program in the words that follow. It stays one process, which is killed when this one ends. */
export const mountWords = (layers: Layers, programs: ReadonlyMap<string, string>): readonly string[] => [
  programs.get('setpriv') ?? '',
  '--pdeathsig',
  'KILL',
  programs.get('unshare') ?? '',
  ...namespace(layers, WRITABLE),
];

/** A command's mounts with the view in place of the workspace. Inside the workspace, only hidden and replaced places keep their mounts. */
export function mountsOver({ folder, workspace }: Layers, mounts: readonly Mount[]): readonly Mount[] {
  return mounts.flatMap((mount) => {
    if (mount.path === workspace) return [{ ...mount, from: join(folder, 'merged') }];
    const stays = !within(workspace, mount.path) || mount.as === 'hidden' || mount.from !== undefined;
    return stays ? [mount] : [];
  });
}

/** A read-only mount of the merged tree that this process can read. */
export interface Merged extends AsyncDisposable {
  readonly path: string;
}

/** Throws `no-view` when the kernel refuses. */
export async function mountMerged(layers: Layers, programs: ReadonlyMap<string, string>): Promise<Merged> {
  const words = [...namespace(layers, READABLE), 'sh', '-c', 'echo ready; read -r line'];
  const child = spawn(programs.get('unshare') ?? '', words, {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { PATH },
  });
  const closed = new Promise<void>((resolve) => {
    child.once('error', () => resolve());
    child.once('close', () => resolve());
  });
  let said = '';
  child.stderr.on('data', (bytes: Buffer) => (said += bytes.toString()));
  child.stdin.on('error', () => {});
  const isReady = await Promise.race([
    new Promise<true>((resolve) => child.stdout.once('data', () => resolve(true))),
    closed.then(() => false),
  ]);
  if (!isReady) throw new AppError('no-view', `The view couldn't be mounted: ${said.trim()}`);
  return {
    path: join(`/proc/${child.pid ?? 0}/root`, realpathSync(layers.folder), 'merged'),
    [Symbol.asyncDispose]: async () => await ended(child, closed),
  };
}

async function ended(child: ChildProcess, closed: Promise<void>): Promise<void> {
  child.stdin?.end();
  await closed;
}

/** Mount points below the workspace. A view would show the empty folders beneath them. */
export function mountsBelow(workspace: string): readonly string[] {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) => unescaped(line.split(' ')[4] ?? ''))
    .filter((point) => point.startsWith(`${workspace}/`));
}

const unescaped = (text: string): string =>
  text.replaceAll(/\\(?<octal>[0-7]{3})/gu, (_, octal: string) => String.fromCodePoint(Number.parseInt(octal, 8)));

/** Paths in a tree can be longer than the kernel takes, and a command may have closed folders of its own: programs cope with both. */
const REMOVE = 'find "$1" -type d ! -perm -700 -execdir chmod 700 {} ";"; rm -rf -- "$1"';

/** Removes a folder of the store. */
export async function removeTree(folder: string): Promise<void> {
  try {
    // The kernel leaves it without rights.
    if (statAt(join(folder, 'work', 'work')) !== undefined) chmodSync(join(folder, 'work', 'work'), 0o700);
    await rm(folder, { recursive: true, force: true });
  } catch (error) {
    if (!['EACCES', 'EPERM', 'ENAMETOOLONG'].includes(errorCode(error) ?? '')) throw error;
    const program = spawn('/bin/sh', ['-c', REMOVE, 'sh', folder], { stdio: 'ignore', env: { PATH } });
    const [code] = (await once(program, 'close')) as [number | null];
    if (code !== 0) throw error;
  }
}
