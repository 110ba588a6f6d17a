import { closeSync, constants, openSync, readdirSync, readFileSync, readlinkSync, readSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { within } from '../security/paths/rules.ts';
import type { Clock } from '../util/clock.ts';
import type { Change } from './changes.ts';
import { measure, namesIn, statAt, type Pace } from './tree.ts';
import { offsetOf, type Layers } from './view.ts';

/** Suffixes of the files beside a SQLite database that hold part of its content. */
const JOURNALS = ['-wal', '-journal'];
const INDEX = '-shm';
/** One of the two clocks counts whole milliseconds. */
const CLOCK_SLACK_MS = 5;

/** Why a change set can't land: what has changed in the workspace since the view's start. Hold the workspace's lock. */
export async function conflicts(
  { workspace, startNs, offsetMs }: Pick<Layers, 'workspace' | 'startNs' | 'offsetMs'>,
  changes: readonly Change[],
  { clock, pace, busyFolders }: { readonly clock: Clock; readonly pace: Pace; readonly busyFolders: readonly string[] },
): Promise<readonly string[]> {
  if (offsetOf(clock).most < offsetMs - CLOCK_SLACK_MS) return ['the clock was set back'];
  const found = new Set<string>();
  const at = (path: string): string => join(workspace, path);
  const isNew = (path: string): boolean => (statAt(at(path))?.ctimeNs ?? 0n) > startNs;
  const open = openForWriting(workspace);
  const parents = new Map<string, boolean>();
  const repositories = new Set<string>();
  for (const { path, op, old } of changes) {
    await pace.step();
    if (old !== undefined && old.newestNs > startNs && !(op === 'attributes' && old.isFolder))
      found.add(`${old.newest} has changed`);
    if (old?.isFolder === true && op !== 'attributes') {
      const busy = busyFolders.find((folder) => within(at(path), folder));
      if (busy !== undefined) found.add(`a background process is running in ${busy}`);
      for (const file of open) if (within(at(path), file)) found.add(`${file} is open elsewhere`);
    }
    const main = JOURNALS.reduce((name, end) => (name.endsWith(end) ? name.slice(0, -end.length) : name), path);
    for (const end of ['', ...JOURNALS])
      if (main + end !== path && isNew(main + end) && isDatabase(at(main))) found.add(`${main + end} has changed`);
    for (const end of ['', ...JOURNALS, INDEX])
      if (open.has(at(main + end))) found.add(`${main + end} is open elsewhere`);
    const parent = dirname(path);
    parents.set(parent, (parents.get(parent) ?? false) || (op === 'put' && old === undefined));
    const git = /^(?:.*\/)?\.git(?=\/|$)/u.exec(path)?.[0];
    if (git !== undefined) repositories.add(git);
  }
  for (const git of repositories) {
    const facts = await measure(workspace, git, pace);
    if (facts !== undefined && facts.newestNs > startNs) found.add(`${facts.newest} has changed`);
  }
  for (const [parent, isAdding] of parents) {
    const reason = await parentConflict(workspace, parent, { isAdding, startNs, pace });
    if (reason !== undefined) found.add(reason);
  }
  return [...found];
}

async function parentConflict(
  workspace: string,
  parent: string,
  { isAdding, startNs, pace }: { readonly isAdding: boolean; readonly startNs: bigint; readonly pace: Pace },
): Promise<string | undefined> {
  const path = join(workspace, parent);
  const stats = statAt(path);
  if (stats?.isDirectory() !== true) return `${parent} is gone`;
  const me = process.getuid?.() ?? 0;
  if (me !== 0 && Number(stats.uid) !== me && (stats.mode & 0o022n) === 0n) return `${parent} isn't writable`;
  if (!isAdding || stats.mtimeNs <= startNs) return undefined;
  for (const name of namesIn(path, parent)) {
    await pace.step();
    // A newer entry explains why the folder's mtime has moved.
    if ((statAt(join(path, name))?.ctimeNs ?? 0n) > startNs) return undefined;
  }
  return `an entry of ${parent === '.' ? 'the workspace' : parent} was removed`;
}

function isDatabase(path: string): boolean {
  const head = Buffer.alloc(16);
  try {
    const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      readSync(fd, head);
    } finally {
      closeSync(fd);
    }
  } catch {
    return false;
  }
  return head.toString('latin1') === 'SQLite format 3\0';
}

/** Files of the workspace that another process has open for writing. Only this user's processes are visible. */
function openForWriting(workspace: string): ReadonlySet<string> {
  const found = new Set<string>();
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/u.test(name) && name !== String(process.pid))) {
    try {
      for (const fd of readdirSync(`/proc/${pid}/fd`)) {
        const path = readlinkSync(`/proc/${pid}/fd/${fd}`);
        if (!path.startsWith(`${workspace}/`)) continue;
        const flags = /^flags:\s*(?<octal>\d+)/mu.exec(readFileSync(`/proc/${pid}/fdinfo/${fd}`, 'utf8'));
        const access = Number.parseInt(flags?.groups?.['octal'] ?? '0', 8) & (constants.O_WRONLY | constants.O_RDWR);
        if (access !== constants.O_RDONLY) found.add(path);
      }
    } catch {
      // The process has ended, or is another user's.
    }
  }
  return found;
}
