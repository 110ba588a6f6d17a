import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { chown, mkdir, readFile, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { asServer } from './postgres.ts';
import { tempFolder } from './temp.ts';
import { waitFor } from './wait.ts';

const run = promisify(execFile);

/** Of the two servers: in which of two places it is, each of which has an address that stays. */
type Slot = 0 | 1;

/** A server of the pair. */
interface Running {
  readonly slot: Slot;
  readonly data: string;
  readonly child: ChildProcess;
}

/** A primary with a synchronous standby: what was committed is on both. */
export interface Pair extends AsyncDisposable {
  /** The sockets' folders of both, the one of the first primary first. */
  readonly folders: readonly [string, string];
  /** The address of an empty database, which names both servers. */
  database(): Promise<string>;
  /** Which of the two is the primary. */
  readonly primary: Slot;
  /** Ends all processes of the primary at once. */
  kill(): Promise<void>;
  /** Stops all processes of the primary from going on, without an end of its connections. */
  freeze(): Promise<void>;
  /** What was frozen goes on, and does not know what happened meanwhile. */
  thaw(): Promise<void>;
  /** Starts the primary that was killed again, as one. */
  restart(): Promise<void>;
  /** Starts the primary that was killed before the other one was promoted: it does not know of that. */
  startOld(): Promise<void>;
  /** Ends the standby, so that nothing can be committed. */
  killStandby(): Promise<void>;
  startStandby(): Promise<void>;
  /** Makes the standby the primary; the earlier one stays as it is. */
  promote(): Promise<void>;
  /** Ends what is left of the earlier primary, and makes a standby in its place from the new one. */
  rebuild(): Promise<void>;
  /** Asks one server, whatever it is. */
  ask(slot: Slot, database: string, text: string): Promise<string>;
}

/**
 * Starts both. They do not wait for the disk: what a server wrote outlives the death of its processes, and the death of a machine
 * is none that a test can bring about.
 */
export async function startPair(programs: string): Promise<Pair> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await tempFolder());
  const user = await asServer();
  const options = { ...user, cwd: folder.path, env: { PATH: process.env['PATH'], LC_ALL: 'C.UTF-8' } };
  const folders = [join(folder.path, 'one'), join(folder.path, 'two')] as const;
  const own = async (path: string): Promise<void> => {
    if (user.uid !== undefined) await chown(path, user.uid, user.gid);
  };
  await own(folder.path);
  for (const path of folders) {
    await mkdir(path, { mode: 0o700 });
    await own(path);
  }
  let made = 0;
  const newData = async (): Promise<string> => {
    made += 1;
    const data = join(folder.path, `data-${made}`);
    await mkdir(data, { mode: 0o700 });
    await own(data);
    return data;
  };
  const program = async (name: string, ...args: readonly string[]): Promise<string> =>
    (await run(join(programs, name), args, options)).stdout.trim();
  const ask = (slot: Slot, database: string, text: string): Promise<string> =>
    program('psql', '-XAtq', '-U', 'assistant', '-h', folders[slot], '-d', database, '-c', text);
  const isAnswering = (slot: Slot): Promise<boolean> => ask(slot, 'postgres', 'SELECT 1').then((said) => said === '1');

  const start = async (slot: Slot, data: string): Promise<Running> => {
    const settings = [
      'listen_addresses=',
      `unix_socket_directories=${folders[slot]}`,
      'shared_buffers=32MB',
      'fsync=off',
      'full_page_writes=off',
      'synchronous_commit=on',
      'synchronous_standby_names=*',
    ];
    const flags = settings.flatMap((one) => ['-c', one]);
    const begin = (): ChildProcess =>
      spawn(join(programs, 'postgres'), ['-D', data, ...flags], { ...options, stdio: 'ignore' });
    let child = begin();
    await waitFor(async () => {
      // While processes of a server that was killed still end, the next one ends at once.
      if (child.exitCode !== null) child = begin();
      return await isAnswering(slot);
    });
    return { slot, data, child };
  };
  const isSynchronous = async (slot: Slot): Promise<boolean> =>
    (await ask(slot, 'postgres', "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'")) === '1';
  const standby = async (from: Slot): Promise<Running> => {
    const slot = from === 0 ? 1 : 0;
    const data = await newData();
    const copying = ['-R', '-X', 'stream', '--checkpoint=fast', '--no-sync'];
    await program('pg_basebackup', '-h', folders[from], '-U', 'assistant', '-D', data, ...copying);
    const started = await start(slot, data);
    await waitFor(() => isSynchronous(from), { what: 'the standby is synchronous' });
    return started;
  };

  const data = await newData();
  const making = ['-A', 'trust', '--encoding=UTF8', '--no-sync', '--no-instructions'];
  await program('initdb', '-D', data, '-U', 'assistant', ...making);
  let primary = await start(0, data);
  stack.defer(() => signalAll(primary, 'SIGKILL'));
  let other = await standby(0);
  stack.defer(() => signalAll(other, 'SIGKILL'));
  let databases = 0;
  let old: Running | undefined;
  const owned = stack.move();
  return {
    folders,
    ask,
    get primary() {
      return primary.slot;
    },
    database: async () => {
      databases += 1;
      const name = `test_${databases}`;
      await ask(primary.slot, 'postgres', `CREATE DATABASE ${name}`);
      return `postgres://assistant@/${name}?host=${encodeURIComponent(folders.join(','))}`;
    },
    kill: () => signalAll(primary, 'SIGKILL'),
    freeze: () => signalAll(primary, 'SIGSTOP'),
    thaw: () => signalAll(old ?? primary, 'SIGCONT'),
    restart: async () => {
      primary = await start(primary.slot, primary.data);
    },
    startOld: async () => {
      if (old !== undefined) old = await start(old.slot, old.data);
    },
    killStandby: () => signalAll(other, 'SIGKILL'),
    startStandby: async () => {
      other = await start(other.slot, other.data);
    },
    promote: async () => {
      await program('pg_ctl', 'promote', '-w', '-D', other.data);
      old = primary;
      primary = other;
    },
    rebuild: async () => {
      if (old === undefined) throw new Error('nothing was promoted');
      await signalAll(old, 'SIGKILL');
      await rm(old.data, { recursive: true, force: true });
      // What a server that was killed leaves behind would keep the next one from its socket.
      for (const name of await readdir(folders[old.slot])) await rm(join(folders[old.slot], name), { force: true });
      old = undefined;
      other = await standby(primary.slot);
    },
    [Symbol.asyncDispose]: async () => {
      if (old !== undefined) await signalAll(old, 'SIGKILL');
      await owned.disposeAsync();
    },
  };
}

/** To the server and all its processes, of which none goes on or starts another meanwhile. */
async function signalAll({ child }: Running, signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): Promise<void> {
  const { pid } = child;
  if (pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  if (signal !== 'SIGCONT') child.kill('SIGSTOP');
  const processes = await childrenOf(pid);
  const gone = signal === 'SIGKILL' ? new Promise((resolve) => child.once('exit', resolve)) : undefined;
  for (const one of [...processes, pid]) {
    try {
      process.kill(one, signal);
    } catch {
      // It ended by itself.
    }
  }
  await gone;
}

async function childrenOf(parent: number): Promise<readonly number[]> {
  const all = (await readdir('/proc')).filter((name) => /^\d+$/u.test(name)).map(Number);
  const parents = await Promise.all(
    all.map(async (pid) => {
      const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
      return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[1]);
    }),
  );
  return all.filter((_, n) => parents[n] === parent);
}
