import { execFile, execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '../support/wait.ts';

/** Where the machine sees the folder that the tests gave it. */
const PROGRAMS = '/opt/assistant-test';

/** Why no systemd can be started here; undefined: one can. */
export const noSystemd = ((): string | undefined => {
  if (process.getuid?.() !== 0) return 'only root can make the namespaces';
  const missing = ['/lib/systemd/systemd', '/usr/bin/nsenter', '/usr/bin/unshare'].find((path) => !existsSync(path));
  if (missing !== undefined) return `${missing} is missing`;
  return cgroupMount() === undefined ? 'no control groups of version 2 are mounted' : undefined;
})();

/** Units of the vendor that would change the kernel which this machine shares, or wait for devices that it has not. */
const MASKED =
  'systemd-sysctl systemd-modules-load systemd-udevd systemd-udev-trigger systemd-remount-fs systemd-binfmt systemd-random-seed systemd-timesyncd kmod-static-nodes systemd-networkd-wait-online'.split(
    ' ',
  );

const BOOT = `set -e
mount --make-rprivate /
mount -t tmpfs tmpfs "$1"
mkdir "$1/upper" "$1/work" "$1/root"
R="$1/root"
mount -t overlay overlay "$R" -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work"
mount -t tmpfs tmpfs "$R/etc/systemd/system"
for unit in ${MASKED.join(' ')}; do ln -s /dev/null "$R/etc/systemd/system/$unit.service"; done
: > "$R/etc/fstab"
mkdir -p "$R${PROGRAMS}"
mount --bind "$2" "$R${PROGRAMS}"
mount -t proc proc "$R/proc"
mount -t sysfs -o ro sysfs "$R/sys"
for folder in run tmp dev var/log/journal; do mkdir -p "$R/$folder"; mount -t tmpfs -o mode=755 tmpfs "$R/$folder"; done
chmod 1777 "$R/tmp"
for name in null zero full random urandom tty; do touch "$R/dev/$name"; mount --bind "/dev/$name" "$R/dev/$name"; done
mkdir "$R/dev/shm" "$R/dev/pts"
mount -t tmpfs tmpfs "$R/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$R/dev/pts"
ln -s pts/ptmx "$R/dev/ptmx"
ln -s /proc/self/fd "$R/dev/fd"
mount -t cgroup2 cgroup2 "$R/sys/fs/cgroup"
cd "$R"
pivot_root . mnt
umount -l /mnt
hostname assistant-test
exec env -i container=assistant-test PATH=/usr/sbin:/usr/bin:/sbin:/bin \\
  /lib/systemd/systemd --system --unit=basic.target --log-target=journal --show-status=0`;

/** How a command ended in the machine. */
export interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/**
 * This machine's own systemd as process 1 of namespaces of its own, without a network, over a copy of this machine's
 * files that is gone at the end. The folder `bin` of `programs` is the first on its PATH.
 */
export class SystemdMachine implements AsyncDisposable {
  readonly #folder = mkdtempSync(join(tmpdir(), 'assistant-systemd-'));
  readonly #group = join(cgroupMount() ?? '', `assistant-test-${process.pid}`);
  readonly #outer: ChildProcess;
  #init = '';

  private constructor(programs: string) {
    const [script, machine] = [join(this.#folder, 'boot.sh'), join(this.#folder, 'machine')];
    writeFileSync(script, BOOT);
    mkdirSync(machine);
    mkdirSync(this.#group);
    const joined = 'echo $$ > "$1/cgroup.procs" && shift && exec unshare "$@"';
    const spaces = ['--pid', '--fork', '--kill-child', '--mount', '--cgroup', '--uts', '--ipc', '--net'];
    const words = [this.#group, ...spaces, 'sh', script, machine, programs];
    this.#outer = spawn('sh', ['-c', joined, 'sh', ...words], { stdio: ['ignore', 'ignore', 'inherit'] });
  }

  /** Starts the machine and waits until systemd says that it runs. */
  static async start(programs: string): Promise<SystemdMachine> {
    const machine = new SystemdMachine(programs);
    await waitFor(async () => (await machine.run('systemctl', 'is-active', 'basic.target')).code === 0, {
      timeoutMs: 60_000,
      what: 'systemd',
    });
    return machine;
  }

  /** Runs a program in the machine as root. */
  async run(...words: readonly string[]): Promise<Ended> {
    const { pid } = this.#outer;
    if (this.#init === '') this.#init = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
    if (this.#init === '') return { code: -1, out: '', err: 'the machine has not begun' };
    const path = `PATH=${PROGRAMS}/bin:/usr/sbin:/usr/bin:/sbin:/bin`;
    const inside = ['-t', this.#init, '-a', 'env', '-i', 'HOME=/root', 'LANG=C.UTF-8', path, ...words];
    return await new Promise((resolve) => {
      execFile('nsenter', inside, { timeout: 180_000 }, (error, out, err) => {
        resolve({ code: error === null ? 0 : typeof error.code === 'number' ? error.code : -1, out, err });
      });
    });
  }

  /** Runs a line of shell in the machine as the user of the service, and returns what it printed. */
  async asAssistant(line: string): Promise<string> {
    const home = '/var/lib/assistant';
    const user = ['setpriv', '--reuid=assistant', '--regid=assistant', '--init-groups', 'env', `HOME=${home}`];
    const { out, err } = await this.run(...user, `ASSISTANT_HOME=${home}/.assistant`, 'sh', '-c', `cd /; ${line}`);
    return out + err;
  }

  /** A property of the unit, as systemctl shows it. */
  async property(name: string): Promise<string> {
    return (await this.run('systemctl', 'show', 'assistant', `--property=${name}`, '--value')).out.trim();
  }

  /** Whether systemd can limit the memory of a service here. */
  get limitsMemory(): boolean {
    return readFileSync(join(this.#group, 'cgroup.controllers'), 'utf8').split(/\s/u).includes('memory');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#outer.kill('SIGKILL');
    const events = join(this.#group, 'cgroup.events');
    await waitFor(() => readFileSync(events, 'utf8').includes('populated 0'), { what: 'the end of the machine' });
    execFileSync('find', [this.#group, '-depth', '-type', 'd', '-exec', 'rmdir', '{}', ';']);
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

function cgroupMount(): string | undefined {
  const mounts = readFileSync('/proc/mounts', 'utf8').split('\n');
  return mounts.map((line) => line.split(' ')).find(([, , type]) => type === 'cgroup2')?.[1];
}
