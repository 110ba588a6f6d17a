import { isInterpreter } from './code.ts';
import { unwrapCommand } from './wrappers.ts';

/** Plain signs, single quotes, and double quotes in which nothing has a meaning. */
const WORD = /(?:[\w@%+=:,./-]|'[^']*'|"[^"$`\\!]*")+/uy;

/**
 * The words of a command that is nothing but one program and its arguments, each spelled out; null for everything in
 * which a shell would do more than split words: lists, pipes, redirections, patterns, variables, assignments, comments.
 */
export function exactWords(command: string): readonly string[] | null {
  const words: string[] = [];
  let at = 0;
  while (at < command.length) {
    WORD.lastIndex = at;
    const word = WORD.exec(command)?.[0];
    if (word === undefined) return null;
    words.push(
      word.replaceAll(/'([^']*)'|"([^"]*)"/gu, (_, single: string = '', double: string = '') => single + double),
    );
    at += word.length;
    const gap = /^(?: +|$)/u.exec(command.slice(at));
    if (gap === null) return null;
    at += gap[0].length;
  }
  const [program = ''] = words;
  return program === '' || program.includes('=') ? null : words;
}

/** Builtins of shells, which take precedence over programs of the same name. */
const BUILTINS =
  /^(?:\.|:|\[|\[\[|alias|bg|bind|break|builtin|caller|case|cd|command|compgen|complete|compopt|continue|coproc|declare|dirs|disown|do|done|echo|elif|else|enable|esac|eval|exec|exit|export|false|fc|fg|fi|for|function|getopts|hash|help|history|if|in|jobs|kill|let|local|logout|mapfile|popd|printf|pushd|pwd|read|readarray|readonly|return|select|set|shift|shopt|source|suspend|test|then|time|times|trap|true|type|typeset|ulimit|umask|unalias|unset|until|wait|while)$/u;

/** Programs whose work is to run something else: named by what they run, a yes for them would be a yes for anything. */
const RUNNERS =
  /^(?:find|xargs|parallel|entr|awk|gawk|mawk|nawk|sed|expect|tclsh|wish|lua|luajit|r|rscript|julia|osascript|pwsh|powershell|java|javac|dotnet|ghci|runghc|scala|groovy|clojure|erl|elixir|iex|irb|pry|pypy|ipython|jupyter|tsx|ts-node|npx|npm|pnpm|yarn|bun|bunx|corepack|uv|uvx|pip|pipx|poetry|pipenv|conda|gem|bundle|rake|cargo|go|make|gmake|cmake|ninja|meson|bazel|gradle|mvn|ant|just|task|invoke|tox|nox|pytest|jest|vitest|docker|podman|nerdctl|buildah|kubectl|helm|lxc|machinectl|systemd-nspawn|bwrap|firejail|qemu|vagrant|ansible|ansible-playbook|terraform|at|batch|crontab|systemctl|service|launchctl|gdb|lldb|valgrind|perf|scp|sftp|rsync|mosh|autossh|sshpass|socat|nc|ncat|netcat|telnet|screen|tmux|byobu|dtach|vi|vim|nvim|view|ex|ed|emacs|nano|micro|less|more|most|man|ftp|lftp|sqlite3|psql|mysql|mariadb|mongosh|redis-cli|start-stop-daemon|pkexec|doas|dbus-launch|xdg-open|open|run-parts|logrotate|setpriv|capsh|prlimit|unbuffer|rlwrap)$/u;

export function isBuiltin(name: string): boolean {
  return BUILTINS.test(name);
}

/** Whether a program is a shell, a wrapper, an interpreter or another that runs what it is given. */
export function runsOthers(name: string, args: readonly string[]): boolean {
  const plain = name.toLowerCase().replace(/[-.]?\d[\d.]*$/u, '');
  return [name, plain].some((one) => RUNNERS.test(one) || isInterpreter(one) || unwrapCommand(one, args) !== undefined);
}
