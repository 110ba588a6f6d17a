/** What a wrapper such as `sudo` runs: a command line, or shell code; undefined code is on its standard input. */
type Unwrapped = { readonly argv: readonly string[] } | { readonly code: string | undefined };

/** Options with which an interpreter runs something else than its standard input. */
const OTHER_CODE = /^-(?!-)[a-zA-Z]*[cemnprE]|^--?(?:eval|print|module|version|help|check|test)|^-[vVh]$/u;

/** By program: letters of its options that take the next word, and how many words come before the command. */
const WRAPPERS = new Map<string, readonly [letters: string, words: number]>(
  [
    ['sudo doas env', 'ugpChrtTUDR', 0],
    ['nohup setsid command builtin busybox eval trap', '', 0],
    ['nice ionice exec', 'ncpa', 0],
    ['timeout chroot', 'ks', 1],
    ['chrt taskset', 'TPD', 1],
    ['stdbuf fakeroot', 'ioelsb', 0],
    ['time', 'fo', 0],
    ['strace ltrace', 'eopsuEaPnl', 0],
    ['unshare nsenter', 'SGRwt', 0],
    ['systemd-run', 'puMHE', 0],
    ['flock', 'wE', 1],
    ['su runuser script', 'sgGwuOIBTEo', 99],
    ['xargs parallel', 'aEdInLPsj', 0],
    ['watch', 'nq', 0],
    ['ssh', 'bcDEeFIiJLlmOopRSWw', 1],
  ].flatMap(([names, letters, words]) =>
    `${names}`.split(' ').map((name) => [name, [`${letters}`, Number(words)]] as const),
  ),
);
const LONG_VALUED =
  /^--(?:user|group|prompt|chdir|unset|kill-after|signal|adjustment|input|output|error|format|property|timeout|interval|delimiter|max-\w+|replace|jobs)$/u;
/** They hand all that follows to a shell, as one line of code. */
const LINES = /^(?:eval|trap|watch|ssh)$/u;
const SHELLS = /^(?:sh|bash|dash|zsh|ksh|mksh|ash|rbash|fish)$/u;
/** They run code of another language. */
const INTERPRETERS = /^(?:perl|python|python[23](?:\.\d+)?|ruby|node|deno|php|lua)$/u;

/** Programs whose work is to run something else: named by what they run, a yes for them would be a yes for anything. */
const RUNNERS =
  /^(?:find|toybox|entr|awk|gawk|mawk|nawk|sed|expect|tclsh|wish|luajit|r|rscript|julia|osascript|pwsh|powershell|java|javac|dotnet|ghci|runghc|scala|groovy|clojure|erl|elixir|iex|irb|pry|pypy|ipython|jupyter|tsx|ts-node|npx|npm|pnpm|yarn|bun|bunx|corepack|uv|uvx|pip|pipx|poetry|pipenv|conda|gem|bundle|rake|cargo|go|make|gmake|cmake|ninja|meson|bazel|gradle|mvn|ant|just|task|invoke|tox|nox|pytest|jest|vitest|docker|podman|nerdctl|buildah|kubectl|helm|lxc|machinectl|systemd-nspawn|systemd-inhibit|bwrap|firejail|qemu|vagrant|ansible|ansible-playbook|terraform|at|batch|crontab|systemctl|service|launchctl|gdb|lldb|valgrind|perf|scp|sftp|rsync|mosh|autossh|sshpass|socat|nc|ncat|netcat|telnet|screen|tmux|byobu|dtach|vi|vim|nvim|view|ex|ed|emacs|nano|micro|less|more|most|man|ftp|lftp|sqlite3|psql|mysql|mariadb|mongosh|redis-cli|start-stop-daemon|pkexec|dbus-launch|dbus-run-session|xvfb-run|caffeinate|ltrace|fakeroot|xdg-open|open|run-parts|logrotate|setpriv|capsh|prlimit|unbuffer|rlwrap)$/u;

/** What a program of another language runs, where that is its standard input (undefined) or what a command writes. */
export function foreignCode(name: string, args: readonly string[]): { readonly code: string | undefined } | null {
  if (!INTERPRETERS.test(name)) return null;
  const code = args.find((arg) => !arg.startsWith('-') || arg === '-');
  if (code === undefined || code === '-') return args.some((arg) => OTHER_CODE.test(arg)) ? null : { code: undefined };
  return { code };
}

/** Whether a program is a shell, a wrapper, an interpreter or another that runs what it is given. */
export function runsOthers(name: string): boolean {
  const plain = name.toLowerCase().replace(/[-.]?\d[\d.]*$/u, '');
  return [name, plain].some(
    (one) => SHELLS.test(one) || INTERPRETERS.test(one) || WRAPPERS.has(one) || RUNNERS.test(one),
  );
}

/** What `name args` runs; undefined for an ordinary program, and where nothing that it runs is spelled out. */
export function unwrap(name: string, args: readonly string[]): Unwrapped | undefined {
  if (SHELLS.test(name)) return unwrapShell(args);
  if (name === 'source' || name === '.') return { code: args[0] ?? '' };
  const found = WRAPPERS.get(name);
  if (found === undefined) return name === 'at' || name === 'batch' ? { code: undefined } : undefined;
  const valued = new RegExp(`^-[a-zA-Z]*[${found[0]}-]$`, 'u');
  let words = found[1];
  for (let i = 0; i < args.length; i += 1) {
    const arg = args[i] ?? '';
    if (/^-[lvVkK]$/u.test(arg) && /^(?:sudo|command)$/u.test(name)) return undefined;
    if (/^(?:-c|--command)$/u.test(arg) && (words > 1 || name === 'flock')) return { code: args[i + 1] };
    if (/^(?:-S|--split-string)$/u.test(arg) && name === 'env') return { code: args.slice(i + 1).join(' ') };
    if (arg === '--') return { argv: args.slice(i + 1 + words) };
    if (valued.test(arg) || LONG_VALUED.test(arg)) i += 1;
    else if (/^-.|^\w+=/u.test(arg)) continue;
    else if (words > 0) words -= 1;
    else return LINES.test(name) ? { code: args.slice(i).join(' ') } : { argv: args.slice(i) };
  }
  return undefined;
}

/** A file of code is not read, unless another part of the command writes what it contains (`bash <(curl …)`). */
function unwrapShell(args: readonly string[]): Unwrapped {
  const at = args.findIndex(
    (arg, i) => !/^[-+]\w|^--./u.test(arg) && !/^[-+]\w*[oO]$|^--(?:rc|init-)file$/u.test(args[i - 1] ?? ''),
  );
  const options = (at < 0 ? args : args.slice(0, at)).filter((arg) => /^-\w/u.test(arg)).join('');
  const first = /^--?$/u.test(args[at] ?? '') ? args[at + 1] : args[at];
  if (options.includes('c')) return { code: first ?? '' };
  if (options.includes('s') || first === undefined) return { code: undefined };
  return { code: first.includes('\0') ? first : '' };
}

const NARROWS =
  /^-(?:i?name|i?path|wholename|i?regex|newer|[mca]time|[mca]min|size|empty|inum|samefile|lname|user|group|perm|links)$/u;

/** What `find` runs, with the folders that it searches in place of `{}`; `-delete` as `rm`. */
export function findRuns(args: readonly string[]): readonly (readonly string[])[] {
  const start = args.findIndex((arg) => /^(?:-(?![HLPOD])|[(!])/u.test(arg));
  const actions = start < 0 ? [] : args.slice(start);
  const named = args.slice(0, start < 0 ? undefined : start).filter((arg) => !arg.startsWith('-'));
  // A condition leaves most alone, unless it holds for every file or is joined to another with `-o`.
  const narrows = (word: string, i: number): boolean =>
    NARROWS.test(word) && !/^(?:!|-not)$/u.test(actions[i - 1] ?? '') && !/^[*.?]+$/u.test(actions[i + 1] ?? '');
  if (actions.some(narrows) && !actions.some((word) => /^(?:-o|-or|,)$/u.test(word)))
    named.splice(0, Infinity, 'found');
  const roots = named.length === 0 ? ['.'] : named;
  const runs: (readonly string[])[] = [];
  for (let i = 0; i < actions.length; i += 1) {
    const word = actions[i] ?? '';
    if (word === '-delete') runs.push(['rm', '-r', ...roots]);
    if (!/^-(?:exec|ok)(?:dir)?$/u.test(word)) continue;
    const end = actions.findIndex((arg, n) => n > i && /^[;+]$/u.test(arg));
    const argv = actions.slice(i + 1, end < 0 ? undefined : end);
    runs.push(argv.flatMap((arg) => (arg === '{}' ? roots : arg)));
    // What follows within it is read with it.
    i += argv.length;
  }
  return runs;
}
