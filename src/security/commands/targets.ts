import { posix } from 'node:path';
import { ANY, isUndecided, patternOf, STAR } from './marks.ts';

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
const HOMES = new Set(['home', 'Users']);
/** Folders that hold nothing but what may go. */
const SCRATCH = new Set(['tmp', 'media', 'mnt']);

const ONLY_WILDCARDS = new RegExp(`^[.${STAR}${ANY}]*[${STAR}${ANY}][.${STAR}${ANY}]*$`);

/** `home`: somebody's home directory; `system`: the root, a system directory, or all that lies in one. */
export type Ruin = 'system' | 'home';

/** What would be lost if `path`, seen from `directory`, went with everything in it; undefined when it is no ruin. */
export function ruinOf(path: string, directory: string): Ruin | undefined {
  const absolute = posix.normalize(path.startsWith('/') ? path : `${directory}/${path}`);
  let parts = absolute.split('/').filter((part) => part !== '' && part !== '.');
  if (parts[0] === 'proc' && parts[2] === 'root') parts = parts.slice(3);
  let contents = false;
  while (parts.length > 0 && ONLY_WILDCARDS.test(parts.at(-1) ?? '')) {
    parts = parts.slice(0, -1);
    contents = true;
  }
  const [first, second, third] = parts;
  if (first === undefined) return 'system';
  const tops = matching(first, TOP);
  if (second === undefined) return tops.some((top) => !contents || !SCRATCH.has(top)) ? 'system' : undefined;
  if (third !== undefined) return undefined;
  if (tops.some((top) => HOMES.has(top))) return 'home';
  return tops.some((top) => matching(second, SECOND[top] ?? []).length > 0) ? 'system' : undefined;
}

function matching(name: string, candidates: readonly string[]): readonly string[] {
  if (!isUndecided(name)) return candidates.filter((candidate) => candidate === name);
  const pattern = patternOf(name);
  return candidates.filter((candidate) => pattern.test(candidate));
}

const HARMLESS_DEVICE =
  /^\/dev\/(?:null|zero|full|random|urandom|stdin|stdout|stderr|tty\w*|ptmx|console|(?:pts|fd|shm|tcp|udp|mqueue)\/.*)$/;

/** Whether writing there goes past every file system: a disk, memory, a kernel trigger. */
export function isRawDevice(path: string, directory: string): boolean {
  const absolute = posix.normalize(path.startsWith('/') ? path : `${directory}/${path}`);
  if (absolute === '/proc/sysrq-trigger') return true;
  return absolute.startsWith('/dev/') && !HARMLESS_DEVICE.test(absolute);
}
