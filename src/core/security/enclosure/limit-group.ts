import { mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { errorCode } from '../../util/errors.ts';

export interface CgroupPaths {
  /** @default /sys/fs/cgroup */
  readonly root: string;
  /** Which groups this process is in, cgroups(7). @default /proc/self/cgroup */
  readonly own: string;
}

const NAME = /^assistant-sandbox-(\d+)-/u;

/**
 * Makes a control group (version 2) that limits all commands of this process together, below its own group, or beside it
 * where a service was given its own subtree. `tag` tells groups of one process apart. Returns its folder; null where this process may not make one.
 */
export async function makeLimitGroup(
  limits: { readonly processes: number; readonly memoryBytes: number },
  tag: string,
  { root, own }: CgroupPaths = { root: '/sys/fs/cgroup', own: '/proc/self/cgroup' },
): Promise<string | null> {
  const path = /^0::(.*)$/mu.exec(await read(own))?.[1];
  if (path === undefined) return null;
  const above = dirname(path);
  // A service with `DelegateSubgroup=` lives in a leaf of its subtree, whose siblings are its own; slices never are.
  const isTop = path === '/' || above === '/' || basename(above).endsWith('.slice');
  for (const parent of isTop ? [path] : [path, above]) {
    const group = join(root, parent, `assistant-sandbox-${process.pid}-${tag}`);
    try {
      await prepare(join(root, parent));
      await removeLeft(join(root, parent));
      await mkdir(group);
      await writeFile(join(group, 'pids.max'), String(limits.processes));
      await writeFile(join(group, 'memory.max'), String(limits.memoryBytes));
      await writeFile(join(group, 'memory.swap.max'), '0').catch(() => {});
      return group;
    } catch {
      await removeLimitGroup(group);
    }
  }
  return null;
}

/** A group that still holds processes stays, until the service manager removes the service's subtree. */
export async function removeLimitGroup(group: string): Promise<void> {
  await rmdir(group).catch(() => {});
}

/** Removes the groups of processes that were killed. */
async function removeLeft(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const owner = Number(NAME.exec(name)?.[1] ?? process.pid);
    if (!runs(owner)) await removeLimitGroup(join(parent, name));
  }
}

function runs(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return errorCode(error) !== 'ESRCH';
  }
}

/** Has a group hand down what limits need. Throws when it can't. */
async function prepare(parent: string): Promise<void> {
  const available = (await read(join(parent, 'cgroup.controllers'))).trim().split(' ');
  const control = join(parent, 'cgroup.subtree_control');
  const given = (await read(control)).trim().split(' ');
  const missing = ['memory', 'pids'].filter((name) => !given.includes(name));
  if (!missing.every((name) => available.includes(name))) throw new Error('no controller for memory or pids');
  if (missing.length > 0) await writeFile(control, missing.map((name) => `+${name}`).join(' '));
}

async function read(path: string): Promise<string> {
  return await readFile(path, 'utf8').catch(() => '');
}
