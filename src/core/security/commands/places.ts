import { posix } from 'node:path';
import { folded, startKind } from '../paths/names.ts';
import { UNKNOWN, type Invocation } from './words.ts';

const TOP =
  'bin boot dev etc home lib lib32 lib64 libx32 media mnt nix opt proc root run sbin srv sys tmp usr var Applications Library System Users Volumes private'.split(
    ' ',
  );
/** Longer than any name or pattern that matters. */
const LONGEST_NAME = 40;
/** Further directories of the system, and the files without which nobody can log in or nothing starts. */
const SECOND =
  /^\/(?:usr\/(?:bin|sbin|lib|lib32|lib64|libexec|local|share|include)|var\/lib|private\/(?:etc|var)|etc\/(?:passwd|shadow|group|gshadow|sudoers|fstab))$/u;
const HARMLESS_DEVICE =
  /^\/dev\/(?:(?:null|zero|full|random|urandom|stdin|stdout|stderr|tty\w*|ptmx|console)(?:\/|$)|(?:pts|fd|shm|tcp|udp|mqueue)\/)/u;

/** Absolute paths that a program deletes, empties or moves away, as far as its arguments say. */
function removedBy({ name, args, folder }: Invocation): readonly string[] {
  const words = args.filter((arg) => !arg.startsWith('-'));
  const has = (option: RegExp): boolean => args.some((arg) => option.test(arg));
  const removers: readonly (readonly [RegExp, readonly string[]])[] = [
    [/^(?:rm|srm|rimraf|unlink|rmdir|truncate|shred)$/u, words],
    [/^mv$/u, words.slice(0, has(/^(?:-t|--target)/u) ? undefined : -1)],
    [/^rsync$/u, has(/^--del/u) ? words.slice(-1) : []],
    [/^tar$/u, has(/^--remove-files$/u) ? words : []],
  ];
  const removed = removers.find(([programs]) => programs.test(name))?.[1] ?? [];
  return removed.filter((path) => path !== UNKNOWN).map((path) => posix.resolve(folder, path));
}

/** What a program would destroy by deleting, moving or overwriting it, as a clause; undefined for nothing that matters. */
export function destroyedBy(call: Invocation, userHome: string): string | undefined {
  const { name, args, folder } = call;
  const kinds = new Set(removedBy(call).map((path) => kindOf(path, userHome)));
  const does = name === 'mv' ? 'it would move away' : 'it would delete';
  if (kinds.has('system')) return `${does} the root of the system or a system directory`;
  if (kinds.has('home')) return `${does} a whole home directory`;
  const isDeep = args.some((arg) => /^--recursive$|^-[a-zA-Z]*R/u.test(arg));
  if (isDeep && /^(?:chmod|chown|chgrp|setfacl)$/u.test(name)) {
    const paths = args.filter((arg) => !arg.startsWith('-') && arg !== UNKNOWN);
    if (paths.some((path) => kindOf(posix.resolve(folder, path), userHome) === 'system'))
      return `\`${name}\` would change the rights of the root of the system or a system directory`;
  }
  const device = writtenBy(call).find(
    (path) => path === '/proc/sysrq-trigger' || (path.startsWith('/dev/') && !HARMLESS_DEVICE.test(path)),
  );
  return device && `${name === '>' ? 'it' : `\`${name}\``} would write over the device ${device}`;
}

/** What goes with an absolute path, or with all that lies in it (`/etc/*`). */
function kindOf(path: string, userHome: string): 'system' | 'home' | 'other' {
  const plain = path.replace(/^\/proc\/[^/]+\/root(?=\/|$)/u, '');
  const parts = plain.split('/').filter((part) => part !== '');
  while (/^[.*?]*[*?][.*?]*$/u.test(parts.at(-1) ?? '')) parts.pop();
  const whole = `/${parts.join('/')}`;
  if (whole === '/' || SECOND.test(whole)) return 'system';
  if (whole === userHome || /^\/(?:home|Users)\/[^/]+$/u.test(whole)) return 'home';
  // Folders that contain nothing but what may go.
  if (/^\/(?:tmp|media|mnt)$/u.test(whole) && whole !== plain) return 'other';
  // Braces that the shell left are letters; here they would be counted out.
  const pattern = whole.slice(0, LONGEST_NAME).replaceAll(/[{}]/gu, '?');
  return TOP.some((top) => posix.matchesGlob(`/${top}`, pattern)) ? 'system' : 'other';
}

/** Absolute paths that a program writes, as far as its arguments say. */
function writtenBy({ name, args, folder }: Invocation): readonly string[] {
  const words = args.filter((arg) => !arg.startsWith('-'));
  const line = args.join('\n');
  const options = args.flatMap((arg, i) => {
    const isNext = /^(?:-[oOtP]|--output|--output-document|--target-directory)$/u.test(args[i - 1] ?? '');
    return /^(?:of|--(?:output|output-document|target-directory))=(.*)$/su.exec(arg)?.[1] ?? (isNext ? arg : []);
  });
  const target = options[0] ?? words.at(-1) ?? '';
  const writers: readonly (readonly [RegExp, readonly string[]])[] = [
    [/^(?:>|tee|truncate|shred)$/u, words],
    [/^(?:dd|dcfldd|curl|wget)$/u, options],
    [/^(?:cp|mv|install|ln|rsync|scp)$/u, [target, ...words.map((word) => `${target}/${posix.basename(word)}`)]],
    [/^sed$/u, /^-[a-zA-Z]*i|^--in-place/mu.test(line) ? words : []],
    [/^badblocks$/u, /^-\w*w/mu.test(line) ? words : []],
    [/^(?:sgdisk|sfdisk|parted)$/u, /^(?:-[plivd]|--(?:print|list|info|verify|dump)|print)$/mu.test(line) ? [] : words],
  ];
  const written = writers.find(([programs]) => programs.test(name))?.[1] ?? [];
  return written.map((path) => posix.resolve(folder, path));
}

/** A file that a program writes and something else runs later, or one of the system that it removes, as a clause. */
export function startFileIn(
  call: Invocation,
  { workspace, userHome }: { workspace?: string; userHome: string },
): string | undefined {
  const inHome = (path: string): string => (isBelow(userHome, path) ? posix.relative(userHome, path) : path);
  for (const path of writtenBy(call)) {
    const parts = inHome(path).split('/').map(folded);
    const kind = startKind(parts) ?? (parts.includes('.ssh') ? 'decides who may log in' : undefined);
    if (kind !== undefined && !isBelow(workspace, path)) return `it writes ${inHome(path)}, which ${kind}`;
  }
  const removed = removedBy(call).find((path) => /^\/(?:etc|boot|usr|s?bin|lib\w*)\//u.test(path));
  return removed && `it deletes or moves ${removed}, which belongs to the system`;
}

/** Whether code of another language names a home and deletes. Nothing else is read of such code. */
export function deletesByCode({ name, args }: Invocation): boolean {
  const codes = /^(?:node|deno|bun|perl|python[\d.]*|ruby|php)$/u.test(name) ? args : [];
  return codes.some(
    (code) =>
      /(?:unlink|rmSync|rmdir|rmtree|remove_tree|rm_rf?)\w*[\s(]/u.test(code) &&
      /~|homedir|HOME|expanduser/u.test(code),
  );
}

/** Whether a program is given the assistant's own files, as far as their path is spelled out. */
export function isOwnState(
  { name, args, folder }: Invocation,
  { home, workspace }: { home?: string; workspace?: string },
): boolean {
  if (home === undefined || /^(?:echo|printf)$/u.test(name)) return false;
  return args.some((arg) =>
    arg.split(/[=:,]/u, 64).some((piece) => {
      const path = posix.resolve(folder, piece.replace(/[^/]*[*?[{\0].*$/su, ''));
      return isBelow(home, path) && !isBelow(workspace, path);
    }),
  );
}

function isBelow(folder: string | undefined, path: string): boolean {
  return folder !== undefined && (path === folder || path.startsWith(`${folder}/`));
}
