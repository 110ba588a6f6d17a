import { assistantCommand } from '../core/util/assistant-command.ts';

/** Node and the program, as they were at the time of the installation. Absolute paths without symbolic links. */
export interface InstalledProgram {
  readonly node: string;
  readonly program: string;
}

/** Folders of programs beside those of the PATH, for a service that has a short one. */
const USUAL = [
  '/usr/local/bin',
  '/usr/bin',
  '/bin',
  '/opt/homebrew/bin',
  '"$HOME/.local/bin"',
  '"$HOME/.npm-global/bin"',
];

/**
 * The script that the service starts. It looks for Node 24 or newer and for the program where they were, then in the
 * folders of their other versions (`/versions/node/v24.1.0/` is also `/versions/node/v26.0.2/`), then on the PATH.
 * With `--check` it prints what it found. It ends with 72, which is not tried again, and one sentence if it finds none.
 */
export function launcherScript({ node, program }: InstalledProgram, variables: string | null): string {
  return `#!/bin/sh
# Starts the assistant for its service. Made by its command \`service install\`, which writes it anew.
set -u
PATH="\${PATH:-/usr/bin:/bin}:${[...new Set(USUAL)].map((folder) => folder.replaceAll('"', '')).join(':')}"
export PATH

is_node() { [ -x "$1" ] && "$1" -e 'process.exit(+process.versions.node.split(".")[0] >= 24 ? 0 : 1)' 2>/dev/null; }
is_program() { case "$1" in */launcher.cjs) [ -r "$1" ] && grep -q 'Starts the assistant' "$1" ;; *) false ;; esac; }
real() { readlink -f "$1" 2>/dev/null || printf '%s' "$1"; }
on_path() { type_of=$(command -v "$1") && real "$type_of"; }

node=
for one in ${quoted(node)} ${pattern(node)} "$(on_path node)"; do
  if is_node "$one"; then node=$one; break; fi
done
if [ -z "$node" ]; then
  echo 'assistant: Node 24 or newer was not found. Install it (https://nodejs.org) and run: ${assistantCommand('service install')}' >&2
  exit 72
fi

program=
for one in ${quoted(program)} ${pattern(program)} "$(on_path assistant)" "$(real "$(dirname "$node")/assistant")"; do
  if is_program "$one"; then program=$one; break; fi
done
if [ -z "$program" ]; then
  echo 'assistant: the program was not found. Install it again (docs/install.md) and run: ${assistantCommand('service install')}' >&2
  exit 72
fi

if [ "\${1:-}" = --check ]; then
  printf '%s\\n%s\\n' "$node" "$program"
  exit 0
fi
${variables === null ? LEAF_GROUP : variablesOf(variables)}
# With more arenas glibc keeps tens of megabytes that no one uses. Other systems do not know the variable.
MALLOC_ARENA_MAX="\${MALLOC_ARENA_MAX:-2}"
export MALLOC_ARENA_MAX
# Commands that the assistant runs find this Node too.
PATH="$(dirname "$node"):$PATH"
exec "$node" --max-semi-space-size=4 "$program" gateway
`;
}

/** The kernel gives limits only to groups below one that holds no process itself. */
const LEAF_GROUP = `
# Where the service may divide its control group, this process moves down, so that commands beside it can be limited.
group=$(sed -n 's/^0:://p' /proc/self/cgroup 2>/dev/null)
case "$group" in
  */assistant.service)
    if mkdir -p "/sys/fs/cgroup$group/main" 2>/dev/null; then
      { echo $$ > "/sys/fs/cgroup$group/main/cgroup.procs"; } 2>/dev/null
    fi ;;
esac
`;

/** launchd reads no file of variables. Nothing in it is run: a line is a name and a value. */
function variablesOf(path: string): string {
  return `
if [ -r ${quoted(path)} ]; then
  while IFS= read -r line || [ -n "$line" ]; do
    name=\${line%%=*}
    case "$name" in '' | "$line" | [0-9]* | *[!A-Za-z0-9_]*) continue ;; esac
    value=\${line#*=}
    case "$value" in
      '"'*'"') value=\${value#?} value=\${value%?} ;;
      "'"*"'") value=\${value#?} value=\${value%?} ;;
    esac
    export "$name=$value"
  done < ${quoted(path)}
fi
`;
}

/** The same path with any version in the place of its own; it stays unquoted there, so that the shell looks for it. */
function pattern(path: string): string {
  const parts = path.split(/(v?\d+(?:\.\d+)+[\w.+-]*)/u);
  return parts.map((part, n) => (n % 2 === 1 ? '*' : part && quoted(part))).join('');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
