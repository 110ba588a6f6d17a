import { existsSync } from 'node:fs';
import { sandboxArguments } from './arguments.ts';
import { ENVIRONMENT_FILE, FD, USER, type SandboxEngine, type SandboxLimits, type SandboxProfile } from './profile.ts';

/** What to spawn. Nothing else may be in the environment, and no other descriptor than the standard ones open. */
export interface SandboxedCommand {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** Holds the command's environment on its way: other users can read a process's arguments, but not its environment. */
const ENVIRONMENT_VARIABLE = 'SANDBOX_ENVIRONMENT';

/** Without templates `git init` needs no writable folder of hooks. */
const DEFAULTS = { GIT_TEMPLATE_DIR: '' };

/** What a launcher that could not start bwrap exits with. */
const LAUNCH_FAILED = 125;

/** Only bash can name descriptors above 9; it must not take a socket for a login and read a start-up file. */
const BASH = '/bin/bash';
const SHELL = existsSync(BASH) ? [BASH, '--norc', '--noprofile', '-c'] : ['/bin/sh', '-c'];

/**
 * A descriptor of a folder outside would be a way out, so all are closed first that the assistant's own parent left open.
 * Arguments: groups, one a line; the filter's file or nothing; the home folder; then bwrap and its arguments.
 */
const OUTSIDE = `for fd in /proc/self/fd/*; do
  fd=\${fd##*/}
  case $fd in
    [0-2]) ;;
    [3-9]) eval "exec $fd>&-" ;;
    *[0-9]) [ -z "\${BASH_VERSION-}" ] || eval "exec $fd>&-" ;;
  esac
done
IFS='
'
for group in $1; do
  { echo 0 > "$group/cgroup.procs"; } 2>/dev/null || { echo 'The limits of the sandbox cannot be set.' >&2; exit ${LAUNCH_FAILED}; }
done
unset IFS
if [ -n "$2" ]; then
  [ -r "$2" ] || { echo 'The filter of the sandbox cannot be read.' >&2; exit ${LAUNCH_FAILED}; }
  exec ${FD.filter}< "$2"
fi
exec ${FD.passwd}<<END
root:x:0:0:root:/:/bin/sh
${USER.name}:x:${USER.id}:${USER.id}::$3:/bin/sh
nobody:x:65534:65534::/:/bin/sh
END
exec ${FD.group}<<END
root:x:0:
${USER.name}:x:${USER.id}:
nogroup:x:65534:
END
exec ${FD.environment}<<END
$${ENVIRONMENT_VARIABLE}
END
exec ${FD.empty}< /dev/null
shift 3
exec "$@"`;

/** Said when something outlived the command; in here it is printed last, in brackets. */
export const LEFTOVER_NOTE =
  'Something it started still ran in the background and was stopped; only a command with background: true goes on.';

/**
 * What is still running when the command has ended gets 150 ms to end by itself (the last words of a pipe), then ends
 * with this shell. Signal 0 to everybody reaches all in here but this shell and the first process.
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

/**
 * What to spawn so that `command` (a program and its arguments) runs in the sandbox. The shell that starts becomes
 * bwrap, so its process id is bwrap's; when that dies, everything inside dies. Exit codes are the command's; 128 + n
 * after signal n.
 */
export function launch(command: readonly string[], profile: SandboxProfile, engine: SandboxEngine): SandboxedCommand {
  const inside = `exec ${FD.empty}<&-\n[ ! -r ${ENVIRONMENT_FILE} ] || . ${ENVIRONMENT_FILE}\n${limiting(engine.limits)}\n${RUN}`;
  const before = [engine.groups.join('\n'), engine.filter ?? '', profile.environment['HOME'] ?? profile.workspace];
  const bwrap = [engine.program, ...sandboxArguments(profile, engine)];
  const [file = '', ...options] = SHELL;
  return {
    file,
    args: [...options, OUTSIDE, 'sandbox', ...before, ...bwrap, '/bin/sh', '-c', inside, 'sandbox', ...command],
    env: { [ENVIRONMENT_VARIABLE]: exported({ ...DEFAULTS, ...profile.environment }) },
  };
}

/**
 * Limits of single processes, set inside so that they do not count what runs outside. Not of address space: V8, Go and
 * WebAssembly reserve far more of it than they use; `-d` counts what can be written.
 */
function limiting({ processes, memoryBytes, fileBytes, openFiles }: SandboxLimits): string {
  return [
    'limit() { ulimit "$@" 2>/dev/null; }',
    'limit -c 0',
    `limit -f ${Math.floor(fileBytes / 512)}`,
    `limit -d ${Math.floor(memoryBytes / 1024)}`,
    `limit -n ${openFiles}`,
    // dash and busybox call it -p, which is the size of pipes in bash and cannot be set there.
    `limit -p ${processes} || limit -u ${processes}`,
    'unset -f limit',
  ].join('\n');
}

/** Names that a shell keeps for itself and would fail on. */
const SHELL_NAMES = new Set(['UID', 'EUID', 'PPID', 'GROUPS', 'SHELLOPTS', 'BASHOPTS', 'BASH_VERSINFO']);

/** The environment in shell syntax; names that no shell can export are left out. */
function exported(environment: Readonly<Record<string, string>>): string {
  return Object.entries(environment)
    .filter(
      ([name, value]) => /^[A-Za-z_][A-Za-z0-9_]*$/u.test(name) && !SHELL_NAMES.has(name) && !value.includes('\0'),
    )
    .map(([name, value]) => `export ${name}='${value.replaceAll("'", `'\\''`)}'`)
    .join('\n');
}
