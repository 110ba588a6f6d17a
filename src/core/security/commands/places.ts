import { posix } from 'node:path';
import { folded, startKind } from '../paths/names.ts';
import { UNKNOWN, type Invocation } from './words.ts';

const TOP =
  'bin boot dev etc home lib lib32 lib64 libx32 media mnt nix opt proc root run sbin srv sys tmp usr var Applications Library System Users Volumes private'.split(
    ' ',
  );
/** Longer than any name or pattern that matters. */
const LONGEST_NAME = 40;
const SECOND = /^\/(?:usr\/(?:bin|sbin|lib|lib32|lib64|libexec|local|share|include)|var\/lib|private\/(?:etc|var))$/u;
const HARMLESS_DEVICE =
  /^\/dev\/(?:(?:null|zero|full|random|urandom|stdin|stdout|stderr|tty\w*|ptmx|console)(?:\/|$)|(?:pts|fd|shm|tcp|udp|mqueue)\/)/u;

/** What a program would destroy by deleting, moving or overwriting it, as a clause; undefined for nothing that matters. */
export function destroyedBy(call: Invocation, userHome: string): string | undefined {
  const { name, args } = call;
  const words = args.filter((arg) => !arg.startsWith('-') && arg !== UNKNOWN);
  const has = (option: RegExp): boolean => args.some((arg) => option.test(arg));
  const lost = (paths: readonly string[], does: string, homes = true): string | undefined => {
    const kinds = new Set(paths.map((path) => kindOf(posix.resolve(call.folder, path), userHome)));
    if (kinds.has('system')) return `${does} the root of the system or a system directory`;
    return homes && kinds.has('home') ? `${does} a whole home directory` : undefined;
  };
  if (/^(?:rm|srm|rimraf)$/u.test(name)) return lost(words, 'it would delete');
  if (name === 'mv') return lost(has(/^(?:-t|--target)/u) ? words : words.slice(0, -1), 'it would move away');
  if (/^(?:chmod|chown|chgrp|setfacl)$/u.test(name) && has(/^--recursive$|^-[a-zA-Z]*R/u))
    return lost(words, `\`${name}\` would change the rights of`, false);
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
  const pattern = whole
    .slice(0, LONGEST_NAME)
    .replaceAll(/\[[^\]]+\]/gu, '?')
    .replaceAll(/[.+^$()|{}\\[\]]/gu, '\\$&');
  const isTop = new RegExp(`^${pattern.replaceAll('?', '.').replaceAll('*', '.*')}$`, 'u');
  return TOP.some((top) => isTop.test(`/${top}`)) ? 'system' : 'other';
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

/** A file that a program writes and something else runs later, as a clause; undefined for none. */
export function startFileIn(
  call: Invocation,
  { workspace, userHome }: { workspace: string; userHome: string },
): string | undefined {
  const inHome = (path: string): string => (isBelow(userHome, path) ? posix.relative(userHome, path) : path);
  for (const path of writtenBy(call)) {
    const parts = inHome(path).split('/').map(folded);
    const kind = startKind(parts) ?? (parts.includes('.ssh') ? 'decides who may log in' : undefined);
    if (kind !== undefined && !isBelow(workspace, path)) return `it writes ${inHome(path)}, which ${kind}`;
  }
  return undefined;
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
