import { readdirSync, readFileSync } from 'node:fs';
import { Postgres } from '../../src/host/homes/postgres.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { postgresPrograms, startPostgres } from '../support/postgres.ts';
import { onProcessorMs } from './child.ts';
import type { Row } from './table.ts';
import { median, pause, quantile, type World } from './world.ts';

/** A warm turn with PostgreSQL may take as long as one without, and so many measured commits. */
const MOST_COMMITS = 3;
const CHATS = [2, 3, 4, 5];
const OTHER = '2:bench';

/** What PostgreSQL did so far. */
interface Work {
  /** Write transactions of all homes. */
  readonly transactions: number;
  readonly logBytes: number;
  readonly cpuMs: number;
}

/** A server that waits for its disk, and what it takes. */
export interface MeasuredServer extends AsyncDisposable {
  readonly url: string;
  readonly postgres: Postgres;
  work(): Promise<Work>;
}

export async function startServer(): Promise<MeasuredServer> {
  const programs = postgresPrograms();
  if (programs === undefined)
    throw new Error('PostgreSQL is needed: install it, or set POSTGRES_BIN to the folder of initdb');
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startPostgres(programs, { durable: true }));
  const url = await server.database();
  const postgres = stack.use(await Postgres.open(url, { clock: systemClock, most: 1 }));
  const owned = stack.move();
  return {
    url,
    postgres,
    async work() {
      const sql = `SELECT (SELECT coalesce(sum(revision), 0)::float8 FROM assistant.homes) AS transactions,
        (pg_current_wal_insert_lsn() - '0/0')::float8 AS bytes, current_setting('data_directory') AS folder`;
      const [row = {}] = await postgres.query(sql);
      const main = Number(readFileSync(`${String(row['folder'])}/postmaster.pid`, 'utf8').split('\n')[0]);
      return { transactions: Number(row['transactions']), logBytes: Number(row['bytes']), cpuMs: ofChildren(main) };
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** A tick of the times in /proc/PID/stat, ms. */
const TICK_MS = 10;

/** Of the children of the server's first process: those that still run, and those that ended. */
function ofChildren(main: number): number {
  const [, rest = ''] = readFileSync(`/proc/${main}/stat`, 'utf8').split(') ');
  const [user, system] = rest.split(' ').slice(13, 15).map(Number);
  let sum = ((user ?? 0) + (system ?? 0)) * TICK_MS;
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/u.test(name))) {
    try {
      const parent = /\) \S (?<parent>\d+)/u.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.groups?.['parent'];
      if (Number(parent) === main) sum += onProcessorMs(Number(pid));
    } catch {
      // The process ended meanwhile.
    }
  }
  return sum;
}

/**
 * What PostgreSQL costs a warm turn. A gateway without and one with it take turns, message by message, and single commits are
 * measured between, so that what else the machine does hits all three alike.
 */
export async function measureStore({
  world,
  short,
}: {
  readonly world: World;
  readonly short: boolean;
}): Promise<readonly Row[]> {
  await using server = await startServer();
  await using without = await world.start({ running: 1 });
  await using with_ = await world.start({ running: 1, token: OTHER, config: { store: server.url } });
  await server.postgres.query('CREATE TABLE public.commits (word text)');
  const [local, stored, commits] = [[] as number[], [] as number[], [] as number[]];
  const spent = { without: 0, with: 0, server: 0, transactions: 0, bytes: 0 };
  const rounds = short ? 3 : 12;
  for (let round = -1; round < rounds; round += 1) {
    const before = await server.work();
    const [cpuWithout, cpuWith] = [without.cpuMs(), with_.cpuMs()];
    const times = [[], []] as [number[], number[]];
    for (let i = 0; i < 24; i += 1) {
      const chat = CHATS[i % CHATS.length] ?? 2;
      times[0].push(await world.turn(chat, 'hello'));
      times[1].push(await world.turn(chat, 'hello', OTHER));
    }
    // What is lazy follows within 200 ms.
    await pause(400);
    const after = await server.work();
    // The first round is for warming up.
    if (round < 0) continue;
    local.push(...times[0]);
    stored.push(...times[1]);
    spent.without += without.cpuMs() - cpuWithout;
    spent.with += with_.cpuMs() - cpuWith;
    spent.server += after.cpuMs - before.cpuMs;
    spent.transactions += after.transactions - before.transactions;
    spent.bytes += after.logBytes - before.logBytes;
    for (let i = 0; i < 24; i += 1) {
      const began = performance.now();
      await server.postgres.transaction([
        { text: 'INSERT INTO public.commits VALUES ($1)', values: ['x'.repeat(200)] },
      ]);
      commits.push(performance.now() - began);
    }
  }
  const turns = stored.length;
  const commit = median(commits);
  const more = median(stored) - median(local);
  return [
    row('warm turn without PostgreSQL, p50', median(local), 'ms'),
    row('the same, p95', quantile(local, 0.95), 'ms'),
    row('warm turn with PostgreSQL, p50', median(stored), 'ms'),
    row('the same, p95', quantile(stored, 0.95), 'ms'),
    row('one commit of one row, measured between, p50', commit, 'ms'),
    row('what PostgreSQL adds to a turn, in such commits', more / commit, '×', { most: MOST_COMMITS }),
    // On a busy machine each step also waits for a processor; the quickest tenth waits least.
    row('the same of the quickest tenth of each', (quick(stored) - quick(local)) / quick(commits), '×'),
    row('write transactions of a turn', spent.transactions / turns, ''),
    row('write-ahead log of a turn', spent.bytes / turns / 1_024, 'KiB'),
    row('time on a processor of a turn without PostgreSQL', spent.without / turns, 'ms'),
    row('the same with it: of the gateway', spent.with / turns, 'ms'),
    row('the same with it: of the server', spent.server / turns, 'ms'),
  ];
}

function quick(times: readonly number[]): number {
  return quantile(times, 0.1);
}

function row(what: string, value: number, unit: Row['unit'], limits: Pick<Row, 'most'> = {}): Row {
  return { what, value, unit, ...limits };
}
