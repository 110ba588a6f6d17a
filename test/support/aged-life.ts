import { execFile } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { ageHome } from './aged-home.ts';
import { recordingLog } from './recording-log.ts';
import { SkippingClock } from './skipping-clock.ts';
import { longer, watchStatements, type StatementTimes } from './statement-times.ts';
import { tempFolder } from './temp.ts';
import { waitFor } from './wait.ts';
import { chatOf, OWNER, startWorld, type World } from './world.ts';

/** What took longest; see `StatementTimes`. */
type Measured = Pick<StatementTimes, 'statement' | 'outlier' | 'transaction'>;

/** What was measured of a home that nobody swept for two years, and then a sweeper did. */
export interface AgedLife {
  readonly bytesBefore: number;
  readonly bytesAfter: number;
  /** Bytes by table and index after the sweep. */
  readonly tables: Readonly<Record<string, number>>;
  /** Rows and files that the sweep removed, by store. */
  readonly removed: Readonly<Record<string, number>>;
  readonly sweepMs: number;
  /** While it was swept. */
  readonly sweeping: Measured;
  /** While people talked to it, before and after. */
  readonly living: Measured;
  /** Milliseconds of processor time: the mean of some starts, and the one of the unswept home. */
  readonly startMs: { readonly fresh: number; readonly unswept: number; readonly swept: number };
  /** Processor time of the story of the newest message, and of those of the newest 30, milliseconds. */
  readonly whyMs: readonly [one: number, many: number];
  /** What `/usage` said before and after. */
  readonly usage: readonly [string, string];
}

const HOUR_MS = 3_600_000;
const STARTS = 12;

/** Starts an assistant on a home of two years, lives with it, has it swept, and lives on. */
export async function liveAged(options: {
  readonly messages: number;
  readonly runs: number;
  readonly sweepMs: number;
}): Promise<AgedLife> {
  const clock = new SkippingClock();
  const log = recordingLog();
  const fresh = await freshStart();
  await using folder = await tempFolder();
  await using world = await startWorld({
    clock,
    log,
    furnish: (home) => ageHome(home, { ...options, now: clock.now() }),
  });
  world.model.setHandler(() => 'As always.');
  const path = join(world.home, 'state.db');
  const unswept = world.startMs;
  const bytesBefore = statSync(path).size;
  using times = watchStatements();
  const before = await talk(world);
  const beforeSweep = { statement: times.statement, outlier: times.outlier, transaction: times.transaction };
  times.reset();
  const began = performance.now();
  clock.skip(61_000);
  const { fields } = await waitFor(() => log.lines.find(({ message }) => message.startsWith('sweep: old')), {
    timeoutMs: options.sweepMs,
    what: 'the sweep',
  });
  const sweepMs = performance.now() - began;
  const sweeping = { statement: times.statement, outlier: times.outlier, transaction: times.transaction };
  times.reset();
  const after = await talk(world);
  const whyMs = [
    await processorMs(() => world.assistant.call('why', { count: 30, about: `telegram:${OWNER}` })),
    await processorMs(() => world.assistant.call('why', { count: 30, since: 0 })),
  ] as const;
  clock.skip(HOUR_MS);
  await talk(world);
  const living = {
    statement: longer(times.statement, beforeSweep.statement),
    outlier: longer(times.outlier, beforeSweep.outlier),
    transaction: longer(times.transaction, beforeSweep.transaction),
  };
  const swept = await startsOf(world);
  const tables = await sizes(path, folder.path);
  return {
    bytesBefore,
    bytesAfter: statSync(path).size,
    tables,
    removed: Object.fromEntries(Object.entries(fields).map(([store, rows]) => [store, Number(rows)])),
    sweepMs,
    sweeping,
    living,
    startMs: { fresh, unswept, swept },
    whyMs,
    usage: [before, after],
  };
}

/** Processor time of this thread until `work` is done, milliseconds. */
async function processorMs(work: () => Promise<unknown>): Promise<number> {
  const before = process.threadCpuUsage();
  await work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}

/** A turn and the commands that add things up; returns what `/usage` says of all time. */
async function talk(world: World): Promise<string> {
  const seen = chatOf(world).length;
  for (const words of ['Good morning', '/status', '/why', '/usage', '/cron']) {
    const already = chatOf(world).length;
    world.telegram.userSays(OWNER, words);
    await waitFor(() => chatOf(world).length > already, { what: `an answer to ${words}` });
  }
  return await waitFor(
    () =>
      chatOf(world)
        .slice(seen)
        .find((line) => line.includes('Here in total')),
    { what: 'the usage' },
  );
}

async function freshStart(): Promise<number> {
  await using world = await startWorld();
  return await startsOf(world);
}

/** The mean of some starts, after one that loads what is loaded once. */
async function startsOf(world: World): Promise<number> {
  await world.restart();
  let sum = 0;
  for (let n = 0; n < STARTS; n += 1) {
    await world.restart();
    sum += world.startMs;
  }
  return sum / STARTS;
}

/** Bytes by table and index, largest first, of a copy: nothing else may open the file while it is in use. */
async function sizes(path: string, folder: string): Promise<Readonly<Record<string, number>>> {
  const copy = join(folder, 'copy.db');
  // By another process: closing it in this one would drop SQLite's locks.
  await promisify(execFile)('cp', [path, copy]);
  using db = new DatabaseSync(copy, { readOnly: true });
  const rows = db.prepare('SELECT name, sum(pgsize) AS bytes FROM dbstat GROUP BY name ORDER BY bytes DESC').all();
  return Object.fromEntries(rows.map(({ name, bytes }) => [String(name), Number(bytes)]));
}
