import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import * as z from 'zod';
import { testUnless } from '../support/test-with.ts';
import { childEnvironment } from '../support/child-environment.ts';
import { diskEnvironment, whyNoDiskLibrary, readSyncs, type DiskSettings, type Sync } from '../support/disk-library.ts';
import { tempFolder } from '../support/temp.ts';

const CHILD = fileURLToPath(new URL('../support/database-child.ts', import.meta.url));
const diskTest = testUnless(await whyNoDiskLibrary(), { concurrent: true });
const MIB = 1024 * 1024;

const resultSchema = z.object({
  durable: z.number(),
  asked: z.number(),
  closedMs: z.number(),
  longestMs: z.number(),
  largestLog: z.number(),
  failures: z.array(z.string()),
});

interface Load extends z.output<typeof resultSchema> {
  /** Rows in the file when all was over. */
  readonly rows: number;
  readonly syncs: readonly Sync[];
}

/** Commits so many rows of a kilobyte in a process of its own. */
async function load(rows: number, disk: DiskSettings): Promise<Load> {
  await using folder = await tempFolder();
  const home = join(folder.path, 'home');
  await mkdir(home);
  const path = join(home, 'load.db');
  const log = join(folder.path, 'syncs');
  const env = childEnvironment({ ...(await diskEnvironment({ home, log, ...disk })) });
  const { stdout } = await promisify(execFile)(process.execPath, [CHILD, path, String(rows)], { env });
  using db = new DatabaseSync(path, { readOnly: true });
  return {
    ...resultSchema.parse(JSON.parse(stdout.split('\n')[1] ?? '')),
    rows: Number(db.prepare('SELECT count(*) AS n FROM t').get()?.['n']),
    syncs: readSyncs(log),
  };
}

/** Of the time between the first durable row and the close. */
function whileRunning({ syncs, closedMs }: Load): readonly Sync[] {
  const own = syncs.find(({ path, onMainThread }) => path.endsWith('-wal') && !onMainThread);
  const first = own?.endedMs ?? Infinity;
  return syncs.filter(({ beganMs }) => beganMs >= first && beganMs < closedMs);
}

diskTest(
  'the log stays small under a sustained load, and no sync of it or of the file is made on the event loop',
  async () => {
    const run = await load(12_000, { delayMs: 2 });
    const { largestLog, rows, failures } = run;
    expect(failures).toEqual([]);
    expect(rows).toBeGreaterThanOrEqual(12_000 - 15);
    // Without checkpoints it has twice as much by then.
    expect(largestLog).toBeLessThan(24 * MIB);
    const during = whileRunning(run);
    expect(during.filter(({ path }) => path.endsWith('load.db')).length).toBeGreaterThan(3);
    expect(during.filter(({ onMainThread }) => onMainThread)).toEqual([]);
  },
);

diskTest('a checkpoint whose sync hangs stops the journal for 2 s at most', async () => {
  const { longestMs, durable, syncs } = await load(10_000, { delayMs: 2_500, delayOn: 'load.db' });
  const hanging = syncs.filter(({ path, onMainThread }) => path.endsWith('load.db') && !onMainThread);
  expect(hanging.length).toBeGreaterThan(0);
  expect(durable).toBeGreaterThan(9_900);
  expect(longestMs).toBeLessThan(2_450);
});

diskTest('closing in the middle of a checkpoint keeps everything that was asked for, also on a slow disk', async () => {
  // Enough for one checkpoint, which is under way then.
  const { rows, asked, durable } = await load(3_000, { delayMs: 400, delayOn: 'load.db' });
  expect(rows).toBe(asked);
  expect(durable).toBeLessThanOrEqual(rows);
});
