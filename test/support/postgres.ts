import { execFile, spawn } from 'node:child_process';
import { chown, mkdir, writeFile } from 'node:fs/promises';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { Postgres } from '../../src/host/homes/postgres.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { findProgram } from './programs.ts';
import { tempFolder } from './temp.ts';
import { waitFor } from './wait.ts';

const run = promisify(execFile);

/** The folder with `postgres` and `initdb`; undefined if PostgreSQL isn't installed. Throws where the tests may not go without it. */
export function postgresPrograms(): string | undefined {
  const initdb = findProgram('PostgreSQL');
  return initdb === undefined ? undefined : dirname(initdb);
}

/** A PostgreSQL server that only this process reaches, through a socket in a folder of its own. */
export interface Server extends AsyncDisposable {
  /** Of an empty database that no other test has. */
  database(): Promise<string>;
  /** Ends the server at once, as a power loss would. */
  kill(): Promise<void>;
  /** Starts it again. */
  start(): Promise<void>;
  /** Stops it from answering until `thaw`. */
  freeze(): void;
  thaw(): void;
}

/** The server does not run as root, so root starts it as the user that Debian's package made. */
export async function asServer(): Promise<{ uid: number; gid: number } | Record<string, never>> {
  if (process.getuid?.() !== 0) return {};
  const id = async (flag: string): Promise<number> => Number((await run('id', [flag, 'postgres'])).stdout);
  return { uid: await id('-u'), gid: await id('-g') };
}

/** Of a process of Linux; elsewhere none. */
function childrenOf(pid: number): readonly number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

function kills(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended by itself.
  }
}

export interface ServerOptions {
  /** Waits for the disk. Without it what was committed outlives the server's own death, which is all that a test can bring about. */
  readonly durable?: boolean;
  /** Its first user, who may do everything. @default `assistant` */
  readonly user?: string;
  /** Of 127.0.0.1, to listen there too. */
  readonly port?: number;
  /** `name=value`, over those of every test. */
  readonly settings?: readonly string[];
  /** In the folder of its data, by name; `pg_hba.conf` has to let in `local` with `trust`. */
  readonly files?: Readonly<Record<string, string>>;
}

/** Starts a server of its own. */
export async function startPostgres(
  programs: string,
  { durable = false, user: admin = 'assistant', port, settings: more = [], files = {} }: ServerOptions = {},
): Promise<Server> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await tempFolder());
  const user = await asServer();
  const data = join(folder.path, 'data');
  await mkdir(data, { mode: 0o700 });
  if (user.uid !== undefined) for (const path of [folder.path, data]) await chown(path, user.uid, user.gid);
  const options = { ...user, cwd: folder.path, env: { PATH: process.env['PATH'], LC_ALL: 'C.UTF-8' } };
  await run(
    join(programs, 'initdb'),
    ['-D', data, '-U', admin, '-A', 'trust', '--encoding=UTF8', '--no-sync', '--no-instructions'],
    options,
  );
  for (const [name, text] of Object.entries(files)) {
    await writeFile(join(data, name), text, { mode: 0o600 });
    if (user.uid !== undefined) await chown(join(data, name), user.uid, user.gid);
  }
  let child: ReturnType<typeof spawn> | undefined;
  const url = (name: string): string =>
    `postgres://${admin}@/${name}?host=${encodeURIComponent(folder.path)}${port === undefined ? '' : `&port=${port}`}`;
  const start = async (): Promise<void> => {
    const settings = [
      ...(port === undefined ? ['listen_addresses='] : ['listen_addresses=127.0.0.1', `port=${port}`]),
      `unix_socket_directories=${folder.path}`,
      'shared_buffers=32MB',
      ...(durable ? [] : ['fsync=off', 'full_page_writes=off']),
      ...more,
    ];
    const flags = settings.flatMap((one) => ['-c', one]);
    const begin = (): void => {
      child = spawn(join(programs, 'postgres'), ['-D', data, ...flags], { ...options, stdio: 'ignore' });
    };
    begin();
    await waitFor(async () => {
      // While processes of a server that was killed still end, the next one ends at once.
      if (child?.exitCode !== null) begin();
      await using postgres = await Postgres.open(url('postgres'), { clock: systemClock });
      return await postgres.query('SELECT 1');
    });
  };
  const kill = async (signal: 'SIGKILL' | 'SIGINT'): Promise<void> => {
    const one = child;
    if (one === undefined) return;
    child = undefined;
    const gone = new Promise((resolve) => one.once('exit', resolve));
    const sessions = signal === 'SIGKILL' ? childrenOf(one.pid ?? 0) : [];
    one.kill(signal);
    await gone;
    // Those that do not know yet that the server is gone would still answer.
    for (const pid of sessions) kills(pid);
  };
  stack.defer(() => kill('SIGINT'));
  await start();
  let databases = 0;
  const owned = stack.move();
  return {
    database: async () => {
      databases += 1;
      const name = `test_${databases}`;
      await using postgres = await Postgres.open(url('postgres'), { clock: systemClock });
      await postgres.query(`CREATE DATABASE ${name}`);
      return url(name);
    },
    kill: () => kill('SIGKILL'),
    start,
    freeze: () => void child?.kill('SIGSTOP'),
    thaw: () => void child?.kill('SIGCONT'),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
