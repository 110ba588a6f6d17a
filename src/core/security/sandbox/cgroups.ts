import { mkdir, readFile, readdir, rmdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { sleep, systemClock } from '../../util/clock.ts';
import { errorCode } from '../../util/errors.ts';
import type { SandboxLimits } from './profile.ts';

/** Control groups with limits, made for this process's commands. */
export interface LimitGroups {
  /** Folders; a process joins by writing 0 to their `cgroup.procs`. */
  readonly folders: readonly string[];
  readonly countsProcesses: boolean;
  readonly countsMemory: boolean;
}

export interface CgroupPaths {
  /** @default /sys/fs/cgroup */
  readonly root: string;
  /** Which groups this process is in, cgroups(7). @default /proc/self/cgroup */
  readonly own: string;
}

export const CGROUP_PATHS: CgroupPaths = { root: '/sys/fs/cgroup', own: '/proc/self/cgroup' };

const PREFIX = 'assistant-sandbox-';
const REMOVALS = 40;
const REMOVAL_WAIT_MS = 25;

type Settings = Readonly<Record<string, number>>;

/**
 * Makes the groups where this process may: below its own group, or beside it where a service was given its own subtree.
 * Version 2 first, then the separate trees of version 1. Empty groups of processes that are gone are removed. What cannot
 * be had is simply not in the answer. `tag` tells groups of one process apart.
 */
export async function makeLimitGroups(
  limits: Pick<SandboxLimits, 'processes' | 'memoryBytes'>,
  tag: string,
  { root, own }: CgroupPaths = CGROUP_PATHS,
): Promise<LimitGroups> {
  const lines = (await readText(own)).split('\n').map((line) => line.split(':'));
  const pathOf = (matches: (names: string) => boolean): string | undefined =>
    lines
      .find(([, names = '']) => matches(names))
      ?.slice(2)
      .join(':');
  const unified = pathOf((names) => names === '');
  const name = `${PREFIX}${process.pid}-${tag}`;
  const processes = { 'pids.max': limits.processes };
  for (const parent of unified === undefined ? [] : unifiedParents(join(root, unified), unified)) {
    const folder = await makeUnified(parent, name, { ...processes, 'memory.max': limits.memoryBytes });
    if (folder !== undefined) return { folders: [folder], countsProcesses: true, countsMemory: true };
  }
  const separate = async (controller: string, settings: Settings): Promise<string | undefined> => {
    const path = pathOf((names) => names.split(',').includes(controller));
    return path === undefined ? undefined : await makeGroup(join(root, controller, path), name, settings);
  };
  const counting = await separate('pids', processes);
  const memory = await separate('memory', { 'memory.limit_in_bytes': limits.memoryBytes });
  return {
    folders: [counting, memory].filter((folder) => folder !== undefined),
    countsProcesses: counting !== undefined,
    countsMemory: memory !== undefined,
  };
}

/** Groups that still hold processes stay; a later start removes them. */
export async function removeLimitGroups({ folders }: LimitGroups): Promise<void> {
  for (const folder of folders) await removeGroup(folder);
}

/** A group can be removed once the last process in it has been taken away, which may be a moment after its end. */
async function removeGroup(folder: string): Promise<void> {
  for (let tries = 1; tries <= REMOVALS; tries += 1) {
    try {
      await rmdir(folder);
      return;
    } catch (error) {
      if (errorCode(error) !== 'EBUSY' || tries === REMOVALS) return;
      await sleep(systemClock, REMOVAL_WAIT_MS);
    }
  }
}

/** A service with `DelegateSubgroup=` lives in a leaf of its subtree, whose siblings are its own; slices never are. */
function unifiedParents(folder: string, path: string): readonly string[] {
  const above = dirname(folder);
  return path === '/' || dirname(path) === '/' || basename(above).endsWith('.slice') ? [folder] : [folder, above];
}

async function makeUnified(parent: string, name: string, settings: Settings): Promise<string | undefined> {
  const available = (await readText(join(parent, 'cgroup.controllers'))).trim().split(' ');
  if (!['pids', 'memory'].every((controller) => available.includes(controller))) return undefined;
  const passed = join(parent, 'cgroup.subtree_control');
  const given = (await readText(passed)).trim().split(' ');
  const missing = ['pids', 'memory'].filter((controller) => !given.includes(controller));
  if (missing.length > 0 && !(await write(passed, missing.map((controller) => `+${controller}`).join(' '))))
    return undefined;
  const folder = await makeGroup(parent, name, settings);
  if (folder !== undefined) await write(join(folder, 'memory.swap.max'), '0');
  return folder;
}

async function makeGroup(parent: string, name: string, settings: Settings): Promise<string | undefined> {
  await removeLeftOver(parent);
  const folder = join(parent, name);
  try {
    await mkdir(folder, { recursive: false });
  } catch {
    return undefined;
  }
  for (const [file, value] of Object.entries(settings)) {
    if (await write(join(folder, file), String(value))) continue;
    await rmdir(folder).catch(() => {});
    return undefined;
  }
  return folder;
}

async function removeLeftOver(parent: string): Promise<void> {
  const names = await readdir(parent).catch(() => []);
  for (const name of names.filter((name) => name.startsWith(PREFIX))) {
    if (!isAlive(Number.parseInt(name.slice(PREFIX.length), 10))) await rmdir(join(parent, name)).catch(() => {});
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
}

async function readText(path: string): Promise<string> {
  return await readFile(path, 'utf8').catch(() => '');
}

async function write(path: string, text: string): Promise<boolean> {
  return await writeFile(path, text).then(
    () => true,
    () => false,
  );
}
