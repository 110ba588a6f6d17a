import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Postgres } from '../../src/host/homes/postgres.ts';
import type { Child } from './child.ts';
import { startServer, type MeasuredServer } from './store.ts';
import type { Row } from './table.ts';
import { median, pause, quantile, type World } from './world.ts';

const BUSY = 50;
/** Of each home, as of a person or a family. */
const OWNERS = 3;
const TURNS = 20;
const IDLE_MS = 60_000;
/** First looks and sweeps of a start are over then. */
const SETTLED_MS = 150_000;

/** No home is handed over any more. */
const QUIET_MS = 6_000;

const tokenOf = (at: number): string => `${at + 10}:bench`;
const nameOf = (at: number): string => `bench-${at}`;

interface Bench {
  readonly world: World;
  readonly server: MeasuredServer;
  readonly homes: number;
  readonly short: boolean;
}

/** Gateways that run so many homes with PostgreSQL: what one of them takes, idle and busy, and how homes go from one to another. */
export async function measureMachine(
  world: World,
  { homes, short }: { readonly homes: number; readonly short: boolean },
): Promise<readonly Row[]> {
  await using server = await startServer();
  const bench = { world, server, homes, short };
  const empty = await memoryOfNone(bench);
  await makeHomes(bench);
  const all = Array.from({ length: homes }, (_, at) => tokenOf(at));
  const before = await server.work();
  const began = performance.now();
  await using first = await startMachine(bench, 'first');
  const startedMs = (await allRun(world, all)).at(-1) ?? 0;
  const whole = performance.now() - began;
  const start = { gateway: first.cpuMs(), server: (await server.work()).cpuMs - before.cpuMs };
  const idle = await watchIdle(bench, first);
  const busy = await crowd(bench, first);
  const busyMemory = first.memory();
  const again = await restart(bench, { gateway: first, name: 'first', tokens: all });
  await using restarted = again.child;
  const row = (what: string, value: number, unit: Row['unit']): Row => ({
    what: `${homes} homes: ${what}`,
    value,
    unit,
  });
  return [
    row('all run, after the start of the process', whole / 1_000, 's'),
    row('of that, after it was ready', startedMs / 1_000, 's'),
    row('time on a processor for that, each: of the gateway', start.gateway / homes, 'ms'),
    row('the same, of the server', start.server / homes, 'ms'),
    row('memory, idle', idle.memory, 'MiB'),
    row('for each, beyond a gateway without homes', (1_024 * (idle.memory - empty)) / homes, 'KiB'),
    row('time on a processor, idle: of the gateway', idle.gateway, '%'),
    row('the same, of the server', idle.server, '%'),
    row('write transactions in a minute, idle', idle.transactions, ''),
    row('write-ahead log in a minute, idle', idle.logBytes / 1_024, 'KiB'),
    row(`${Math.min(BUSY, homes)} of them busy`, busy.turns / busy.seconds, 'turns/s'),
    row('a turn then, p50', median(busy.times), 'ms'),
    row('the same, p99', quantile(busy.times, 0.99), 'ms'),
    row('time on a processor of such a turn: of the gateway', busy.gateway / busy.turns, 'ms'),
    row('the same, of the server', busy.server / busy.turns, 'ms'),
    row('memory after that', busyMemory, 'MiB'),
    row('stopped in order, and gone after', again.stoppedMs / 1_000, 's'),
    row('homes that it gave back, in order or when the time was over', again.givenBack, ''),
    row('started again: all run after', again.startedMs / 1_000, 's'),
    row('time on a processor for that, each: of the gateway', again.cpu.gateway / homes, 'ms'),
    row('the same, of the server', again.cpu.server / homes, 'ms'),
    ...(await measureMoves(bench, restarted)),
  ];
}

/** Stops a gateway in order, and starts it again. */
async function restart(
  bench: Bench,
  { gateway, name, tokens }: { readonly gateway: Child; readonly name: string; readonly tokens: readonly string[] },
): Promise<{
  readonly child: Child;
  readonly givenBack: number;
  readonly stoppedMs: number;
  readonly startedMs: number;
  readonly cpu: { readonly gateway: number; readonly server: number };
}> {
  const began = performance.now();
  gateway.signal('SIGTERM');
  await gateway.ended();
  const stoppedMs = performance.now() - began;
  const [left] = await bench.server.postgres.query(
    'SELECT count(*)::int AS homes FROM assistant.homes WHERE owner IS NULL',
  );
  const before = await bench.server.work();
  bench.world.peers.asked();
  const child = await startMachine(bench, name);
  await allRun(bench.world, tokens);
  const startedMs = performance.now() - began - stoppedMs;
  return {
    child,
    givenBack: Number(left?.['homes']),
    stoppedMs,
    startedMs,
    cpu: { gateway: child.cpuMs(), server: (await bench.server.work()).cpuMs - before.cpuMs },
  };
}

/** Homes go to a gateway that joins, to the one that is left when one is killed, back when it comes again, and from one that stops. */
async function measureMoves(bench: Bench, first: Child): Promise<readonly Row[]> {
  const { world, homes } = bench;
  const row = (what: string, value: number): Row => ({
    what: `${homes} homes: ${what}`,
    value: value / 1_000,
    unit: 's',
  });
  const joins = async (name: string): Promise<{ readonly child: Child; readonly tookMs: number }> => {
    const began = performance.now();
    const child = await startMachine(bench, name);
    const readyMs = performance.now() - began;
    return { child, tookMs: readyMs + (await areShared(bench)) };
  };
  const second = await joins('second');
  await using _second = second.child;
  const ofFirst = await tokensOf(bench, 'first');
  world.peers.asked();
  first.signal('SIGKILL');
  const killed = await allRun(world, ofFirst);
  const again = await joins('first');
  await using _again = again.child;
  const ofSecond = await tokensOf(bench, 'second');
  world.peers.asked();
  second.child.signal('SIGTERM');
  const stopped = await allRun(world, ofSecond);
  return [
    row('a second gateway has claimed its share after', second.tookMs),
    row(`the first is killed: half of its ${ofFirst.length} run again after`, median(killed)),
    row('the same, all', killed.at(-1) ?? 0),
    row('the first comes back, with its old copies: it has claimed its share after', again.tookMs),
    row(`the second stops: half of its ${ofSecond.length} run again after`, median(stopped)),
    row('the same, all', stopped.at(-1) ?? 0),
  ];
}

async function memoryOfNone(bench: Bench): Promise<number> {
  await using none = await startMachine(bench, 'none');
  await pause(2_000);
  return none.memory();
}

/** Waits until all these bots have asked for messages; when each did, ms. */
async function allRun(world: World, tokens: readonly string[]): Promise<readonly number[]> {
  const began = performance.now();
  const times: number[] = [];
  const missing = new Set(tokens);
  while (missing.size > 0) {
    for (const token of world.peers.asked()) if (missing.delete(token)) times.push(performance.now() - began);
    await pause(50);
  }
  return times;
}

async function startMachine({ world, server, homes }: Bench, name: string): Promise<Child> {
  const folder = join(world.folder, name);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const config = { store: server.url, homes: { enabled: true, max: homes } };
  await writeFile(join(folder, 'config.json'), JSON.stringify(config), { mode: 0o600 });
  return await world.startIn(folder);
}

/** Makes one home as a gateway does, and of its rows those of all others. */
async function makeHomes({ world, server: { url, postgres }, homes }: Bench): Promise<void> {
  {
    await using _seed = await world.start({ running: 1, config: { store: url } });
    await world.turns(1);
    await pause(500);
  }
  const [seed] = await postgres.query('SELECT name FROM assistant.homes');
  const columns = await postgres.query(
    `SELECT c.table_name AS "table", string_agg(quote_ident(c.column_name), ', ') FILTER (WHERE c.column_name NOT IN ('home', 'name')) AS rest
     FROM information_schema.columns AS c WHERE c.table_schema = 'assistant' AND c.is_generated = 'NEVER'
     GROUP BY c.table_name HAVING bool_or(c.column_name = 'home') OR c.table_name = 'homes'`,
  );
  const name = seed?.['name'];
  for (const { table, rest } of columns) {
    const key = table === 'homes' ? 'name' : 'home';
    await postgres.query(
      `INSERT INTO assistant.${String(table)} (${key}, ${String(rest)})
       SELECT 'bench-' || the_number, ${String(rest)} FROM assistant.${String(table)}, generate_series(0, ${homes - 1}) AS the_number WHERE ${key} = $1`,
      [name],
    );
  }
  await postgres.query('DELETE FROM assistant.homes WHERE name = $1', [name]);
  for (let at = 0; at < homes; at += 1) await giveConfig(world, postgres, at);
  await postgres.query('ANALYZE');
}

/** The configuration is a file of the home too, in which each has a bot of its own. */
async function giveConfig(world: World, postgres: Postgres, at: number): Promise<void> {
  const bytes = Buffer.from(JSON.stringify(world.settings(tokenOf(at), OWNERS)));
  const hash = createHash('sha256').update(bytes).digest('hex');
  await postgres.query(
    `WITH piece AS (INSERT INTO assistant.chunks (home, hash, bytes) VALUES ($1, $2, $4))
     UPDATE assistant.files SET size = $3, sha256 = $2, chunks = ARRAY[$2::text] WHERE home = $1 AND path = 'config.json'`,
    [nameOf(at), hash, bytes.length, bytes],
  );
}

async function watchIdle(
  { server, short }: Bench,
  gateway: Child,
): Promise<Record<'gateway' | 'server' | 'memory' | 'transactions' | 'logBytes', number>> {
  await pause(short ? 5_000 : SETTLED_MS);
  const [before, cpu] = [await server.work(), gateway.cpuMs()];
  const idleMs = short ? 15_000 : IDLE_MS;
  await pause(idleMs);
  const after = await server.work();
  return {
    gateway: (100 * (gateway.cpuMs() - cpu)) / idleMs,
    server: (100 * (after.cpuMs - before.cpuMs)) / idleMs,
    memory: gateway.memory(),
    transactions: ((after.transactions - before.transactions) * 60_000) / idleMs,
    logBytes: ((after.logBytes - before.logBytes) * 60_000) / idleMs,
  };
}

/** Each of some homes is asked one thing after the other. */
async function crowd(
  { world, server, homes }: Bench,
  gateway: Child,
): Promise<Record<'turns' | 'seconds' | 'gateway' | 'server', number> & { readonly times: readonly number[] }> {
  const each = async (count: number): Promise<readonly number[]> => {
    const times: number[] = [];
    await Promise.all(
      Array.from({ length: Math.min(BUSY, homes) }, async (_, at) => {
        for (let i = 0; i < count; i += 1) times.push(await world.turn(2, 'hello', tokenOf(at)));
      }),
    );
    return times;
  };
  await each(2);
  const [before, cpu, began] = [await server.work(), gateway.cpuMs(), performance.now()];
  const times = await each(TURNS);
  const seconds = (performance.now() - began) / 1_000;
  // What is lazy follows within 200 ms.
  await pause(400);
  const after = await server.work();
  return {
    turns: times.length,
    seconds,
    times,
    gateway: gateway.cpuMs() - cpu,
    server: after.cpuMs - before.cpuMs,
  };
}

/** Waits until two gateways run all homes and none has gone from one to the other for a while; when the last one did, ms. */
async function areShared({ server, homes }: Bench): Promise<number> {
  const began = performance.now();
  let last = { claims: 0, at: began };
  for (;;) {
    const [row] = await server.postgres.query(
      `SELECT sum(epoch)::int AS claims, count(DISTINCT owner)::int AS gateways,
         count(*) FILTER (WHERE lease_until > clock_timestamp() AND NOT is_leaving)::int AS held FROM assistant.homes`,
    );
    const claims = Number(row?.['claims']);
    if (claims !== last.claims) last = { claims, at: performance.now() };
    const isQuiet = row?.['gateways'] === 2 && row['held'] === homes && performance.now() - last.at > QUIET_MS;
    if (isQuiet) return last.at - began;
    await pause(50);
  }
}

/** The bots of the homes that a machine has. */
async function tokensOf({ world, server }: Bench, machine: string): Promise<readonly string[]> {
  const { owner } = JSON.parse(await readFile(join(world.folder, machine, 'store.json'), 'utf8')) as { owner: string };
  const rows = await server.postgres.query('SELECT name FROM assistant.homes WHERE owner = $1', [owner]);
  return rows.map((row) => tokenOf(Number(String(row['name']).split('-').at(-1))));
}
