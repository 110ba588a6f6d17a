import { join } from 'node:path';
import { SESSION_FOLDERS, within } from '../paths/rules.ts';
import { ENVIRONMENT_FILE, FD, USER, type SandboxEngine, type SandboxProfile } from './profile.ts';

const SYSTEM = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/nix/store', '/run/current-system/sw'];

/** Parts of /etc that programs need and that hold no secrets. */
const ETC = [
  'ld.so.cache',
  'ld.so.conf',
  'ld.so.conf.d',
  'alternatives',
  'localtime',
  'timezone',
  'nsswitch.conf',
  'locale.alias',
  'mime.types',
  'magic',
  'services',
  'protocols',
  'ssl/certs',
  'ssl/cert.pem',
  'ssl/openssl.cnf',
  'pki/tls/certs',
  'pki/tls/openssl.cnf',
  'pki/ca-trust/extracted',
  'ca-certificates',
  'fonts',
  'perl',
  'python3',
  'java-17-openjdk',
  'java-21-openjdk',
  'ImageMagick-6',
  'ImageMagick-7',
  'static',
];
const ETC_NETWORK = ['resolv.conf', 'hosts', 'gai.conf'];

/** Places of the system's own; a read root over them would undo the isolation. */
const RESERVED = new Set(['/', '/etc', '/proc', '/sys', '/dev', '/tmp', '/run']);
const KERNEL = ['/proc', '/sys', '/dev'];

const SHARED_MEMORY_BYTES = 64 * 1024 ** 2;

/**
 * The arguments of bwrap up to and with `--`. Everything is an allow-list: what is not bound is not there. Pure; the
 * descriptors in `FD` must be open when bwrap starts.
 */
export function sandboxArguments(profile: SandboxProfile, engine: SandboxEngine): string[] {
  return [
    ...isolationArguments(profile, engine),
    ...SYSTEM.flatMap((path) => readable(path)),
    ...systemFiles(profile),
    ...(engine.proc === 'new' ? ['--proc', '/proc'] : ['--tmpfs', '/proc']),
    '--dev',
    '/dev',
    '--size',
    String(SHARED_MEMORY_BYTES),
    '--perms',
    '1777',
    '--tmpfs',
    '/dev/shm',
    '--size',
    String(engine.limits.temporaryBytes),
    '--perms',
    '1777',
    '--tmpfs',
    '/tmp',
    '--symlink',
    '/tmp',
    '/var/tmp',
    ...readRoots(profile),
    ...workspace(profile),
    // Root's files under /proc (core_pattern, sysrq-trigger) obey the user id alone, without any capability.
    ...['/proc', '/dev', '/'].flatMap((path) => ['--remount-ro', path]),
    '--chdir',
    profile.cwd,
    '--',
  ];
}

function isolationArguments({ network }: SandboxProfile, { disableUserns, hostname, filter }: SandboxEngine): string[] {
  return [
    '--unshare-all',
    '--unshare-user',
    ...(network ? ['--share-net'] : []),
    ...(disableUserns ? ['--disable-userns'] : []),
    ...(filter === undefined ? [] : ['--seccomp', String(FD.filter)]),
    '--uid',
    USER.id,
    '--gid',
    USER.id,
    ...(hostname ? ['--hostname', 'sandbox'] : []),
    '--cap-drop',
    'ALL',
    '--die-with-parent',
    '--new-session',
    '--clearenv',
  ];
}

function systemFiles({ network }: SandboxProfile): string[] {
  const files = [...ETC, ...(network ? ETC_NETWORK : [])];
  return [
    ...files.flatMap((name) => readable(`/etc/${name}`)),
    '--perms',
    '0444',
    '--file',
    String(FD.passwd),
    '/etc/passwd',
    '--perms',
    '0444',
    '--file',
    String(FD.group),
    '/etc/group',
    '--perms',
    '0444',
    '--file',
    String(FD.environment),
    ENVIRONMENT_FILE,
  ];
}

/**
 * Mounts of the read roots: first the ones that contain the assistant's home, then the hidden home, then the ones in
 * it.
 */
function readRoots({ home, host, workspace, readRoots, hidden, programs = [] }: SandboxProfile): string[] {
  const outer = host ?? home;
  const roots = readRoots.filter(
    (root) =>
      !RESERVED.has(root) &&
      !KERNEL.some((path) => within(path, root)) &&
      !within(workspace, root) &&
      (!within(outer, root) || SESSION_FOLDERS.some((name) => within(join(home, name), root))),
  );
  const inHome = (root: string): boolean => root !== home && within(home, root);
  const around = roots.filter((root) => within(root, outer));
  return [
    ...roots.filter((root) => !inHome(root)).flatMap((root) => readable(root)),
    ...(around.length > 0 ? ['--tmpfs', outer] : []),
    ...roots.filter((root) => inHome(root)).flatMap((root) => readable(root)),
    ...programs.flatMap((path) => readable(path)),
    ...hidden
      .filter(({ path }) => roots.some((root) => within(root, path)))
      .flatMap(({ path, folder }) =>
        // A device on a mount without devices cannot be opened.
        folder ? ['--perms', '0500', '--tmpfs', path, '--remount-ro', path] : ['--ro-bind', '/dev/null', path],
      ),
  ];
}

/**
 * A place that is a mount of its own can be neither removed nor moved, so nothing else can take its name; the
 * repository is one for the sake of its hooks.
 */
function workspace({ workspace, protectedPaths, owner }: SandboxProfile): string[] {
  const memory = join(workspace, 'memory');
  const user = join(workspace, 'USER.md');
  const open = protectedPaths.readOnly.filter((path) => owner || (path !== memory && path !== user));
  const { repository } = protectedPaths;
  return [
    '--bind',
    workspace,
    workspace,
    ...(repository === undefined ? [] : ['--bind', repository, repository]),
    ...open.flatMap((path) => ['--ro-bind', path, path]),
    ...(owner
      ? []
      : ['--perms', '0555', '--tmpfs', memory, '--remount-ro', memory, '--ro-bind-data', String(FD.empty), user]),
  ];
}

function readable(path: string): string[] {
  return ['--ro-bind-try', path, path];
}
