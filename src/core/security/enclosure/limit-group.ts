import { mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { sleep, systemClock } from '../../util/clock.ts';
import { errorCode } from '../../util/errors.ts';
import { isRunning } from './processes.ts';

export interface CgroupPaths {
  /** @default /sys/fs/cgroup */
  readonly root: string;
  /** Which groups this process is in, cgroups(7). @default /proc/self/cgroup */
  readonly own: string;
}

const PREFIX = 'assistant-sandbox-';

/**
 * Makes a control group (version 2) that limits all commands of this process together, below its own group, or beside it
 * where a service was given its own subtree. Empty groups of processes that are gone are removed. `tag` tells groups of one
 * process apart. Returns its folder; null where this process may not make one.
 */
export async function makeLimitGroup(
  limits: { readonly processes: number; readonly memoryBytes: number },
  tag: string,
  { root, own }: CgroupPaths = { root: '/sys/fs/cgroup', own: '/proc/self/cgroup' },
): Promise<string | null> {
  const path = (await read(own))
    .split('\n')
    .find((line) => line.startsWith('0::'))
    ?.slice(3);
  if (path === undefined) return null;
  const above = dirname(path);
  // A service with `DelegateSubgroup=` lives in a leaf of its subtree, whose siblings are its own; slices never are.
  const isTop = path === '/' || above === '/' || basename(above).endsWith('.slice');
  for (const parent of isTop ? [path] : [path, above]) {
    const group = join(root, parent, `${PREFIX}${process.pid}-${tag}`);
    try {
      await prepare(join(root, parent));
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

/** A group can be removed once the last process in it has been taken away, which may be a moment after its end. */
export async function removeLimitGroup(group: string): Promise<void> {
  for (let tries = 0; tries < 40; tries += 1) {
    const code = await rmdir(group).then(() => undefined, errorCode);
    if (code !== 'EBUSY') return;
    await sleep(systemClock, 25);
  }
}

/** Has a group hand down what limits need. Throws when it can't. */
async function prepare(parent: string): Promise<void> {
  const names = await readdir(parent);
  for (const name of names.filter((one) => one.startsWith(PREFIX))) {
    if (!isRunning(Number.parseInt(name.slice(PREFIX.length), 10))) await rmdir(join(parent, name)).catch(() => {});
  }
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
