import type { Enclosure, Mount, RunOptions, SandboxEngine } from './enclosure.ts';
import { LEFTOVER_NOTE } from './processes.ts';

const SYSTEM = '/usr /bin /sbin /lib /lib32 /lib64 /libx32 /nix/store /run/current-system/sw'.split(' ');
/** Parts of /etc that programs need and that hold no secrets. */
const ETC =
  `ld.so.cache ld.so.conf ld.so.conf.d alternatives localtime timezone nsswitch.conf locale.alias mime.types magic
  services protocols ssl/certs ssl/cert.pem ssl/openssl.cnf pki/tls/certs pki/tls/openssl.cnf pki/ca-trust/extracted
  ca-certificates fonts perl python3 java-17-openjdk java-21-openjdk ImageMagick-6 ImageMagick-7 static`.split(/\s+/u);
const ETC_NETWORK = ['resolv.conf', 'hosts', 'gai.conf'];

/** The filter of system calls in the engine's folder, which bubblewrap reads from descriptor 5. */
export const FILTER = 'calls.bpf';

const SHARED_MEMORY_BYTES = 64 * 1024 ** 2;
/** Node maps the place of its machine code as data: it counts against RLIMIT_DATA, though it is hardly used. */
const RESERVED_BYTES = 512 * 1024 ** 2;

/**
 * Bubblewrap and its arguments up to and with `--`. Everything is an allow-list: what is not mounted is not there. It reads
 * more of them from descriptor 3.
 */
export function sandboxArguments(
  engine: SandboxEngine,
  { mounts, network, view }: Enclosure & Pick<RunOptions, 'view'>,
  cwd: string,
): readonly string[] {
  const system = [...SYSTEM, ...[...ETC, ...(network ? ETC_NETWORK : [])].map((name) => `/etc/${name}`)];
  const files = ['passwd', 'group'].map((name) => ['--ro-bind', `${engine.folder}/${name}`, `/etc/${name}`]);
  const tmpfs = (path: string, bytes: number): string[] => ['--size', `${bytes}`, '--perms', '1777', '--tmpfs', path];
  const hidden = mounts.filter(({ as }) => as === 'hidden').map(({ path }) => path);
  return [
    engine.program,
    ...'--unshare-all --unshare-user --uid 1000 --gid 1000 --cap-drop ALL'.split(' '),
    ...'--die-with-parent --new-session --clearenv --args 3'.split(' '),
    ...(engine.hasFilter ? ['--seccomp', '5'] : []),
    ...(view === undefined ? [] : ['--info-fd', '6']),
    ...engine.features,
    ...(network ? ['--share-net'] : []),
    ...system.flatMap((path) => ['--ro-bind-try', path, path]),
    ...files.flat(),
    ...(engine.features.includes('--proc') ? [] : ['--tmpfs', '/proc']),
    ...'--dev /dev --symlink /tmp /var/tmp'.split(' '),
    ...tmpfs('/dev/shm', SHARED_MEMORY_BYTES),
    ...tmpfs('/tmp', engine.limits.temporaryBytes),
    ...mounts.flatMap(mountArguments),
    // Root's files under /proc (core_pattern, sysrq-trigger) obey the user id alone, without any capability.
    ...[...hidden, '/proc', '/dev', '/'].flatMap((path) => ['--remount-ro', path]),
    '--chdir',
    cwd,
    '--',
  ];
}

function mountArguments({ path, as, from = path, isOptional = false }: Mount): readonly string[] {
  if (as === 'hidden') return ['--perms', '0555', '--tmpfs', path];
  return [`--${as === 'read' ? 'ro-' : ''}bind${isOptional ? '-try' : ''}`, from, path];
}

/**
 * What bubblewrap reads from its descriptor: other users can read a process's arguments, but not these. Without templates
 * `git init` needs no writable folder of hooks.
 */
export function environmentArguments(environment: Readonly<Record<string, string>>): string {
  return Object.entries({ GIT_TEMPLATE_DIR: '', ...environment })
    .filter(([name, value]) => name !== '' && !/[=\0]/u.test(name) && !value.includes('\0'))
    .flatMap(([name, value]) => ['--setenv', name, value])
    .map((argument) => `${argument}\0`)
    .join('');
}

/**
 * What is still running when a command has ended gets 150 ms to end by itself (the last words of a pipe), then ends with
 * this shell, the sandbox's first program. Signal 0 to everybody reaches all in there but this shell and the first process.
 */
const RUN = `"$@"
code=$?
left=15
while [ $left -gt 0 ] && kill -s 0 -- -1 2>/dev/null; do
  left=$((left - 1))
  sleep 0.01 2>/dev/null
done
if [ $left -eq 0 ] && kill -s 0 -- -1 2>/dev/null; then echo '[${LEFTOVER_NOTE}]'; fi
exit $code`;

/** The shell before a program that sets the limits of single processes, inside so that they do not count what runs outside. */
export function insideArguments({ engine, limits = {}, isCommand = false }: RunOptions): readonly string[] {
  // Not of address space: V8, Go and WebAssembly reserve far more of it than they use; `-d` counts what can be written.
  const dataBytes =
    limits.memoryBytes === undefined ? engine?.limits.memoryBytes : limits.memoryBytes() + RESERVED_BYTES;
  const set = [
    ...(engine === null ? [] : [`-f ${Math.floor(engine.limits.fileBytes / 512)}`, `-n ${engine.limits.openFiles}`]),
    ...(dataBytes === undefined ? [] : ['-c 0', `-d ${Math.floor(dataBytes / 1024)}`]),
    ...(limits.cpuSeconds === undefined ? [] : [`-t ${limits.cpuSeconds}`]),
  ].map((limit) => `ulimit ${limit} 2>/dev/null\n`);
  // dash and busybox call it -p, which is the size of pipes in bash and cannot be set there.
  if (engine !== null)
    set.push(`ulimit -p ${engine.limits.processes} 2>/dev/null || ulimit -u ${engine.limits.processes} 2>/dev/null\n`);
  if (set.length === 0) return [];
  return ['/bin/sh', '-c', set.join('') + (engine !== null && isCommand ? RUN : 'exec "$@"'), 'sandbox'];
}
