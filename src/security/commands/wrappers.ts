/** What a program that runs another program leads to. */
export type Unwrapped =
  | { readonly kind: 'command'; readonly argv: readonly string[] }
  | { readonly kind: 'script'; readonly code: string; /** `$0 $1 …` */ readonly args: readonly string[] }
  | { readonly kind: 'file'; readonly path: string; readonly args: readonly string[] }
  | { readonly kind: 'stdin' }
  | { readonly kind: 'nothing' };

interface Wrapper {
  /** Options whose value is the next word. */
  readonly valued: readonly string[];
  /** Words before the command that are not options. @default 0 */
  readonly words?: number;
  /** `NAME=value` words may stand before the command. */
  readonly assignments?: boolean;
  /** With one of these options nothing is run. */
  readonly idle?: readonly string[];
  /** The option whose value is shell code. */
  readonly code?: readonly string[];
  /** The rest is one line of shell code. */
  readonly line?: boolean;
}

const WRAPPERS: Readonly<Record<string, Wrapper>> = {
  sudo: {
    valued: [
      '-u',
      '-g',
      '-p',
      '-C',
      '-h',
      '-r',
      '-t',
      '-T',
      '-U',
      '-D',
      '-R',
      '--user',
      '--group',
      '--prompt',
      '--chdir',
    ],
    assignments: true,
    idle: ['-l', '-v', '-V', '-k', '-K', '--list', '--help', '--version'],
  },
  doas: { valued: ['-u', '-C'] },
  env: { valued: ['-u', '-C', '--unset', '--chdir'], assignments: true, code: ['-S', '--split-string'] },
  nohup: { valued: [] },
  setsid: { valued: [] },
  timeout: { valued: ['-k', '-s', '--kill-after', '--signal'], words: 1 },
  nice: { valued: ['-n', '--adjustment'] },
  ionice: { valued: ['-c', '-n', '-p', '--class', '--classdata'] },
  chrt: { valued: ['-T', '-P', '-D'], words: 1 },
  taskset: { valued: [], words: 1 },
  stdbuf: { valued: ['-i', '-o', '-e', '--input', '--output', '--error'] },
  time: { valued: ['-f', '-o', '--format', '--output'] },
  command: { valued: [], idle: ['-v', '-V'] },
  builtin: { valued: [] },
  exec: { valued: ['-a'] },
  busybox: { valued: [], idle: ['--list', '--help'] },
  toybox: { valued: [] },
  chroot: { valued: [], words: 1 },
  unshare: { valued: ['-S', '-G', '-R', '-w', '--setuid', '--setgid', '--root', '--wd'] },
  nsenter: { valued: ['-t', '-S', '-G', '--target', '--setuid', '--setgid'] },
  fakeroot: { valued: ['-l', '-s', '-i', '-b'] },
  strace: { valued: ['-e', '-o', '-p', '-s', '-u', '-E', '-a', '-P'] },
  ltrace: { valued: ['-e', '-o', '-p', '-s', '-u', '-n', '-l'] },
  'systemd-run': {
    valued: ['-p', '-u', '-M', '-H', '-E', '--unit', '--property', '--uid', '--gid', '--description', '--slice'],
  },
  'systemd-inhibit': { valued: [] },
  runuser: { valued: ['-u', '-g', '-s'], code: ['-c', '--command'], words: 0 },
  su: { valued: ['-s', '-g', '-G', '-w', '--shell'], code: ['-c', '--command'], words: 99 },
  script: { valued: ['-O', '-I', '-B', '-T', '-E', '-o'], code: ['-c', '--command'], words: 99 },
  flock: { valued: ['-w', '-E', '--timeout', '--conflict-exit-code'], code: ['-c', '--command'], words: 1 },
  watch: { valued: ['-n', '--interval', '-q'], line: true },
  ssh: {
    valued: [
      '-b',
      '-c',
      '-D',
      '-E',
      '-e',
      '-F',
      '-I',
      '-i',
      '-J',
      '-L',
      '-l',
      '-m',
      '-O',
      '-o',
      '-p',
      '-R',
      '-S',
      '-W',
      '-w',
    ],
    words: 1,
    line: true,
  },
  'xvfb-run': { valued: ['-e', '-f', '-n', '-p', '-s', '-w'] },
  caffeinate: { valued: ['-t', '-w'] },
  'dbus-run-session': { valued: ['--config-file', '--dbus-daemon'] },
};

const SHELLS = new Set(['sh', 'bash', 'dash', 'zsh', 'ksh', 'mksh', 'ash', 'rbash', 'fish']);

/** What `name args` would run; undefined when it is an ordinary program. */
export function unwrap(name: string, args: readonly string[]): Unwrapped | undefined {
  if (SHELLS.has(name)) return unwrapShell(args);
  const wrapper = WRAPPERS[name];
  if (wrapper === undefined) return undefined;
  let words = wrapper.words ?? 0;
  for (let i = 0; i < args.length; i += 1) {
    const arg = args[i] ?? '';
    const option = optionOf(arg, [...wrapper.valued, ...(wrapper.code ?? [])]);
    if (option !== undefined) {
      if (wrapper.idle?.includes(arg) === true) return { kind: 'nothing' };
      const [flag, value] = option;
      if (wrapper.code?.includes(flag) === true) {
        return {
          kind: 'script',
          code: [value ?? args[i + 1] ?? '', ...(name === 'env' ? args.slice(i + 2) : [])].join(' '),
          args: [],
        };
      }
      if (value === undefined && wrapper.valued.includes(flag)) i += 1;
    } else if (wrapper.assignments === true && /^\w+=/.test(arg)) {
      continue;
    } else if (arg !== '--' && words > 0) {
      words -= 1;
    } else {
      const argv = arg === '--' ? args.slice(i + 1 + words) : args.slice(i);
      return wrapper.line === true ? { kind: 'script', code: argv.join(' '), args: [] } : { kind: 'command', argv };
    }
  }
  return { kind: 'nothing' };
}

/** `-x`, `-xvalue`, `-abx value` and `--long=value`; undefined for anything else. */
function optionOf(arg: string, valued: readonly string[]): [flag: string, value: string | undefined] | undefined {
  if (!arg.startsWith('-') || arg === '-' || arg === '--') return undefined;
  if (arg.startsWith('--')) {
    const equals = arg.indexOf('=');
    return equals < 0 ? [arg, undefined] : [arg.slice(0, equals), arg.slice(equals + 1)];
  }
  for (let i = 1; i < arg.length; i += 1) {
    const flag = `-${arg[i] ?? ''}`;
    if (valued.includes(flag)) return [flag, i + 1 < arg.length ? arg.slice(i + 1) : undefined];
  }
  return [arg, undefined];
}

function unwrapShell(args: readonly string[]): Unwrapped {
  let code = false;
  let stdin = false;
  for (let i = 0; i < args.length; i += 1) {
    const arg = args[i] ?? '';
    if (arg === '--rcfile' || arg === '--init-file' || /^[-+][a-zA-Z]*[oO]$/.test(arg)) {
      if (arg.includes('c')) code = true;
      i += 1;
    } else if (/^[-+][a-zA-Z]+$/.test(arg)) {
      if (arg.startsWith('-') && arg.includes('c')) code = true;
      if (arg.startsWith('-') && arg.includes('s')) stdin = true;
    } else if (!arg.startsWith('--') || arg === '--') {
      const rest = arg === '--' || arg === '-' ? args.slice(i + 1) : args.slice(i);
      const [first] = rest;
      if (first === undefined || (stdin && !code)) return { kind: 'stdin' };
      if (code) return { kind: 'script', code: first, args: rest.slice(1) };
      return { kind: 'file', path: first, args: rest.slice(1) };
    }
  }
  return { kind: 'stdin' };
}
