import { UNKNOWN } from './placeholders.ts';

/** What a wrapper such as `sudo` runs: a command line, shell code, or a file of shell code. */
export type Unwrapped =
  | { readonly argv: readonly string[] }
  | { readonly code: string; /** `$0 $1 …` */ readonly args: readonly string[] }
  | { readonly path: string; /** `$1 …` */ readonly args: readonly string[] };

interface Wrapper {
  /** Options whose value is the next word. */
  readonly valued?: string;
  /** Words before the command that are not options. @default 0 */
  readonly words?: number;
  /** `NAME=value` words may stand before the command. */
  readonly assignments?: boolean;
  /** With one of these options nothing is run. */
  readonly idle?: string;
  /** The option whose value is shell code. */
  readonly code?: string;
  /** The rest is one line of shell code. */
  readonly line?: boolean;
}

const WRAPPERS = new Map(
  Object.entries<Wrapper>({
    sudo: {
      valued: '-u -g -p -C -h -r -t -T -U -D -R --user --group --prompt --chdir',
      assignments: true,
      idle: '-l -v -V -k -K --list --help --version',
    },
    doas: { valued: '-u -C' },
    env: { valued: '-u -C --unset --chdir', assignments: true, code: '-S --split-string' },
    nohup: {},
    setsid: {},
    timeout: { valued: '-k -s --kill-after --signal', words: 1 },
    nice: { valued: '-n --adjustment' },
    ionice: { valued: '-c -n -p --class --classdata' },
    chrt: { valued: '-T -P -D', words: 1 },
    taskset: { words: 1 },
    stdbuf: { valued: '-i -o -e --input --output --error' },
    time: { valued: '-f -o --format --output' },
    command: { idle: '-v -V' },
    builtin: {},
    exec: { valued: '-a' },
    busybox: { idle: '--list --help' },
    toybox: {},
    chroot: { words: 1 },
    unshare: { valued: '-S -G -R -w --setuid --setgid --root --wd' },
    nsenter: { valued: '-t -S -G --target --setuid --setgid' },
    fakeroot: { valued: '-l -s -i -b' },
    strace: { valued: '-e -o -p -s -u -E -a -P' },
    ltrace: { valued: '-e -o -p -s -u -n -l' },
    'systemd-run': { valued: '-p -u -M -H -E --unit --property --uid --gid --description --slice' },
    'systemd-inhibit': {},
    runuser: { valued: '-u -g -s', code: '-c --command' },
    su: { valued: '-s -g -G -w --shell', code: '-c --command', words: 99 },
    script: { valued: '-O -I -B -T -E -o', code: '-c --command', words: 99 },
    flock: { valued: '-w -E --timeout --conflict-exit-code', code: '-c --command', words: 1 },
    watch: { valued: '-n --interval -q', line: true },
    ssh: { valued: '-b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -R -S -W -w', words: 1, line: true },
    'xvfb-run': { valued: '-e -f -n -p -s -w' },
    caffeinate: { valued: '-t -w' },
    'dbus-run-session': { valued: '--config-file --dbus-daemon' },
  }),
);

const SHELLS = /^(?:sh|bash|dash|zsh|ksh|mksh|ash|rbash|fish)$/;
/** It runs no known program. */
const NOTHING: Unwrapped = { argv: [UNKNOWN] };

/** What `name args` would run; undefined when it is an ordinary program. */
export function unwrapCommand(name: string, args: readonly string[]): Unwrapped | undefined {
  if (SHELLS.test(name)) return unwrapShell(args);
  const wrapper = WRAPPERS.get(name);
  if (wrapper === undefined) return undefined;
  const [valued = [], code = [], idle = []] = [wrapper.valued, wrapper.code, wrapper.idle].map((all) =>
    all?.split(' '),
  );
  let { words = 0 } = wrapper;
  for (let i = 0; i < args.length; i += 1) {
    const arg = args[i] ?? '';
    const option = optionOf(arg, [...valued, ...code]);
    if (option !== undefined) {
      if (idle.includes(arg)) return NOTHING;
      const [flag, value] = option;
      if (code.includes(flag)) {
        const rest = name === 'env' ? args.slice(i + 2) : [];
        return { code: [value ?? args[i + 1] ?? '', ...rest].join(' '), args: [] };
      }
      if (value === undefined && valued.includes(flag)) i += 1;
    } else if (wrapper.assignments === true && /^\w+=/.test(arg)) {
      continue;
    } else if (arg !== '--' && words > 0) {
      words -= 1;
    } else {
      const argv = arg === '--' ? args.slice(i + 1 + words) : args.slice(i);
      return wrapper.line === true ? { code: argv.join(' '), args: [] } : { argv };
    }
  }
  return NOTHING;
}

/** `-x`, `-xvalue`, `-abx value` and `--long=value`; undefined for anything else. */
function optionOf(arg: string, valued: readonly string[]): [flag: string, value?: string] | undefined {
  if (!/^-(?!-?$)/.test(arg)) return undefined;
  if (arg.startsWith('--')) {
    const equals = arg.indexOf('=');
    return equals < 0 ? [arg] : [arg.slice(0, equals), arg.slice(equals + 1)];
  }
  const at = Array.from(arg.slice(1)).findIndex((letter) => valued.includes(`-${letter}`)) + 1;
  if (at === 0) return [arg];
  return at + 1 < arg.length ? [`-${arg[at]}`, arg.slice(at + 1)] : [`-${arg[at]}`];
}

function unwrapShell(args: readonly string[]): Unwrapped {
  let code = false;
  let stdin = false;
  for (let i = 0; i < args.length; i += 1) {
    const arg = args[i] ?? '';
    const letters = /^-([a-zA-Z]+)$/.exec(arg)?.[1] ?? '';
    if (letters.includes('c')) code = true;
    if (letters.includes('s')) stdin = true;
    if (/^--(?:rcfile|init-file)$|^[-+][a-zA-Z]*[oO]$/.test(arg)) {
      i += 1;
    } else if (!/^[-+][a-zA-Z]+$|^--./.test(arg)) {
      const rest = arg === '--' || arg === '-' ? args.slice(i + 1) : args.slice(i);
      const [first] = rest;
      if (first === undefined || (stdin && !code)) return { path: '/dev/stdin', args: [] };
      return code ? { code: first, args: rest.slice(1) } : { path: first, args: rest.slice(1) };
    }
  }
  return { path: '/dev/stdin', args: [] };
}
