/**
 * Runs inside the sandbox under /bin/sh and tries to get out: one line per attempt, `open NAME` when it got through,
 * `held NAME` when not, `unknown NAME` when it could not be tried; `end` last. Some attempts are judged from outside.
 * Nothing it does harms a machine where there is no sandbox at all.
 */
export const ESCAPE_SCRIPT = `
: "\${OUTSIDE:?}" "\${NODE:?}" "\${VICTIM:?}"
try() {
  name=$1
  shift
  if ( "$@" ) >/dev/null 2>&1; then echo "open $name"; else echo "held $name"; fi
}
has() { command -v "$1" >/dev/null 2>&1; }

"$NODE" connect.cjs "$PORT" "$SOCKET" "$ABSTRACT" &
connecting=$!

write_system() { [ -w / ] || [ -w /usr ] || [ -w /etc ] || [ -w /dev ]; }
read_outside() { read -r line < "$OUTSIDE/canary" && [ -n "$line" ]; }
read_variable() { [ -n "\${SANDBOX_CANARY+set}" ]; }
set_kernel() {
  for file in /proc/sys/kernel/core_pattern /proc/sys/kernel/modprobe /proc/sysrq-trigger; do
    [ -e "$file" ] && : >> "$file" && return 0
  done
  return 1
}
capable() {
  while read -r key value; do
    case "$key $value" in
      CapEff:*0000000000000000 | CapPrm:*0000000000000000 | CapBnd:*0000000000000000 | 'NoNewPrivs: 1') ;;
      CapEff:* | CapPrm:* | CapBnd:* | NoNewPrivs:*) return 0 ;;
    esac
  done < /proc/self/status
  return 1
}
remount() { mount -o remount,rw,bind /usr || mount -o remount,rw,bind "$PWD/SOUL.md"; }
see_host() { grep -q -F -f mark.txt /proc/[0-9]*/cmdline; }
nest() {
  unshare -U true || unshare -Ur true || "$BWRAP" --unshare-user --ro-bind / / /bin/sh -c :
}

{ echo > "$OUTSIDE/written"; } 2>/dev/null
try write-system write_system
try read-outside read_outside
try read-variable read_variable
try kernel-settings set_kernel
if [ -r /proc/self/status ]; then try capabilities capable; else echo 'held capabilities'; fi
if has mount; then try remount remount
elif [ -r /proc/self/status ]; then try remount capable
else echo 'unknown remount'; fi
if has grep; then try see-host-process see_host; else echo 'unknown see-host-process'; fi
if [ -x "$BWRAP" ] || has unshare; then try nested-namespaces nest; else echo 'unknown nested-namespaces'; fi

for file in SOUL.md AGENTS.md USER.md TOOLS.md HEARTBEAT.md .git/config; do
  { echo planted >> "$file"; rm -f "$file"; mv -f "$file" moved; echo planted > "$file"; } 2>/dev/null
done
for folder in memory skills cron .git/hooks; do
  { echo planted > "$folder/planted"; mv "$folder" moved-folder; rm -rf "$folder"; mkdir -p "$folder"; echo planted > "$folder/planted"; } 2>/dev/null
done
{ mv .git moved-repository; mkdir -p .git/hooks; echo planted > .git/hooks/planted; } 2>/dev/null
{ echo > works; } 2>/dev/null

wait "$connecting"
echo end
kill -9 "$VICTIM" 2>/dev/null
`;

/** Runs inside under Node: sockets of the machine outside. */
export const CONNECT_SCRIPT = `
const net = require('node:net');
const [port, path, name] = process.argv.slice(2);
const targets = { loopback: { host: '127.0.0.1', port: Number(port) }, 'unix-socket': { path }, 'abstract-socket': { path: '\\0' + name } };
for (const [name, target] of Object.entries(targets)) {
  const socket = net.connect(target, () => { console.log('open ' + name); socket.destroy(); });
  socket.on('error', () => console.log('held ' + name));
}
`;

/** What each attempt would mean: "a command inside could …". In the order in which they are told. */
export const ATTEMPTS = {
  'write-outside': 'write a file outside the workspace',
  'write-system': 'write to folders of the system',
  'read-outside': 'read a file outside the workspace',
  'read-variable': "read a variable of the assistant's own environment",
  remount: 'remount a read-only place for writing',
  capabilities: 'use capabilities of an administrator',
  'kernel-settings': 'change settings of the kernel',
  'see-host-process': 'see processes of the machine',
  'kill-host-process': 'end processes of the machine',
  loopback: 'connect to a port of the machine',
  'unix-socket': 'connect to a socket file outside',
  'abstract-socket': 'connect to an abstract socket of the machine',
  'nested-namespaces': 'create namespaces of its own',
  'protected-places': 'write to the protected places of the workspace',
  'survive-parent': 'go on after the assistant ended',
} as const;

export type Attempt = keyof typeof ATTEMPTS;
