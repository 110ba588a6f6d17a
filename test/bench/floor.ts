import { open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { startChild } from './child.ts';
import { BENCH_TOKEN } from './servers.ts';
import { median, type World } from './world.ts';

/** What the same costs a program that does nothing of its own (`floor.mjs`), and the disk. Times in ms, memory in MiB. */
export interface Floor {
  readonly start: number;
  readonly memory: number;
  readonly turn: number;
  readonly cpu: number;
  readonly modelCall: number;
  /** Turns per second with 50 chats. */
  readonly rate: number;
  /** The mean of an append with fdatasync and a commit of SQLite. */
  readonly fsync: number;
  /** How much slower than the machine of the limits; at least 1. */
  readonly scale: number;
}

/** The machine of the limits starts the bare daemon in this time, ms. */
const REFERENCE_START_MS = 61;

export async function measureFloor(world: World): Promise<Floor> {
  const { peers } = world;
  const program = join(dirname(fileURLToPath(import.meta.url)), 'floor.mjs');
  const args = [program, `${peers.telegramRoot}/bot${BENCH_TOKEN}`, peers.modelUrl];
  const starts: number[] = [];
  for (let i = 0; i < 7; i += 1) {
    await using child = await startChild(args);
    starts.push(child.readyMs);
  }
  await using child = await startChild(args);
  await world.turns(20);
  const memory = child.memory();
  const before = child.cpuMs();
  const turns = await world.turns(100);
  const cpu = (child.cpuMs() - before) / turns.length;
  const turn = median(turns);
  const modelCall = (median(await world.turns(30, { text: 'tools 10' })) - turn) / 10;
  await world.crowd(2, 1_000);
  const crowd = await world.crowd(20, 1_000);
  const start = median(starts);
  return {
    start,
    memory,
    turn,
    cpu,
    modelCall,
    rate: crowd.turns / crowd.seconds,
    fsync: await measureFsync(world.folder),
    scale: Math.max(1, start / REFERENCE_START_MS),
  };
}

async function measureFsync(folder: string): Promise<number> {
  const file = await open(join(folder, 'append'), 'a');
  const db = new DatabaseSync(join(folder, 'fsync.db'));
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE t (x TEXT)');
  const insert = db.prepare('INSERT INTO t VALUES (?)');
  const appends: number[] = [];
  const commits: number[] = [];
  for (let i = 0; i < 200; i += 1) {
    const began = performance.now();
    await file.write('x'.repeat(200));
    await file.datasync();
    appends.push(performance.now() - began);
    const middle = performance.now();
    insert.run('x'.repeat(200));
    commits.push(performance.now() - middle);
  }
  await file.close();
  db.close();
  return (median(appends) + median(commits)) / 2;
}
