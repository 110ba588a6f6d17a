import { posix } from 'node:path';
import { ANY, patternOf, STAR, withoutTraces } from './placeholders.ts';

/** What `$HOME` and the first directory stand for while a command is judged: only their depth matters. */
export const HOME = '/home/user';
export const START = `${HOME}/workspace/here`;

const TOP =
  'bin boot dev etc home lib lib32 lib64 libx32 media mnt nix opt proc root run sbin srv sys tmp usr var Applications Library System Users Volumes private'.split(
    ' ',
  );
const SECOND: Readonly<Record<string, readonly string[]>> = {
  usr: ['bin', 'sbin', 'lib', 'lib32', 'lib64', 'libexec', 'local', 'share', 'include'],
  var: ['lib'],
  private: ['etc', 'var'],
};
const HOMES = /^(?:home|Users)$/;
/** Folders that hold nothing but what may go. */
const SCRATCH = /^(?:tmp|media|mnt)$/;

const ONLY_WILDCARDS = new RegExp(`^[.${STAR}${ANY}]*[${STAR}${ANY}][.${STAR}${ANY}]*$`);

/** `home`: somebody's home directory; `system`: the root, a system directory, or all that lies in one. */
type Destruction = 'system' | 'home';

/** Why losing any of these, seen from any of the directories, would be a ruin; undefined when it would not. */
export function reasonIfLost(
  paths: readonly string[],
  directories: readonly string[],
  homes = true,
): string | undefined {
  for (const path of paths) {
    for (const directory of directories) {
      const ruin = destructionOf(posix.resolve(directory, withoutTraces(path)));
      if (ruin === 'system') return 'the root of the system or a system directory';
      if (ruin === 'home' && homes) return 'a whole home directory';
    }
  }
  return undefined;
}

function destructionOf(path: string): Destruction | undefined {
  let parts = path.split('/').filter((part) => part !== '');
  if (parts[0] === 'proc' && parts[2] === 'root') parts = parts.slice(3);
  let contents = false;
  while (parts.length > 0 && ONLY_WILDCARDS.test(parts.at(-1) ?? '')) {
    parts = parts.slice(0, -1);
    contents = true;
  }
  const [first, second, third] = parts;
  if (first === undefined) return 'system';
  const tops = matching(first, TOP);
  if (second === undefined) return tops.some((top) => !contents || !SCRATCH.test(top)) ? 'system' : undefined;
  if (third !== undefined) return undefined;
  if (tops.some((top) => HOMES.test(top))) return 'home';
  return tops.some((top) => matching(second, SECOND[top] ?? []).length > 0) ? 'system' : undefined;
}

function matching(name: string, candidates: readonly string[]): readonly string[] {
  const pattern = patternOf(name);
  return candidates.filter((candidate) => pattern.test(candidate));
}

const HARMLESS_DEVICE =
  /^\/dev\/(?:(?:null|zero|full|random|urandom|stdin|stdout|stderr|tty\w*|ptmx|console)(?:\/|$)|(?:pts|fd|shm|tcp|udp|mqueue)\/)/;

/** Whether writing to an absolute path goes past every file system: a disk, memory, a kernel trigger. */
export function isRawDevice(path: string): boolean {
  if (path === '/proc/sysrq-trigger') return true;
  return path.startsWith('/dev/') && !HARMLESS_DEVICE.test(path);
}
