import { statSync } from 'node:fs';
import { Database } from '../../src/core/storage/database.ts';
import { added, openDatabase } from '../../src/core/storage/open-database.ts';
import { systemClock } from '../../src/core/util/clock.ts';

/**
 * Writes rows to a database of its own, several at a time, and closes it in the middle of that. Arguments: the path, how
 * many rows. Prints how many were durable before the close, the longest wait for one and the largest log.
 */
const [path = '', count = '0'] = process.argv.slice(2);
const WRITERS = 16;
const opened = await openDatabase({
  path,
  backupPath: null,
  migrations: [added('CREATE TABLE t (n INTEGER PRIMARY KEY, text TEXT)')],
});
const failures: string[] = [];
const db = new Database(opened, { path, clock: systemClock, onCheckpointFailure: (reason) => failures.push(reason) });
process.stdout.write('open\n');
let next = 0;
let longestMs = 0;
let largestLog = 0;
const closing = new AbortController();
const durable: number[] = [];
const write = async (): Promise<void> => {
  while (next < Number(count) && !closing.signal.aborted) {
    next += 1;
    const n = next;
    const began = performance.now();
    const made = db.write(() => db.run('INSERT INTO t VALUES (?, ?)', n, 'x'.repeat(1000)));
    // What is asked for is committed by the close, whoever still waits for it.
    await made;
    durable.push(n);
    longestMs = Math.max(longestMs, performance.now() - began);
    largestLog = Math.max(largestLog, statSync(`${path}-wal`).size);
  }
};
await Promise.race(Array.from({ length: WRITERS }, write));
closing.abort();
const asked = next;
/** As `disk.c` counts. */
const closedMs = Number(process.hrtime.bigint()) / 1e6;
db.close();
process.stdout.write(JSON.stringify({ durable: durable.length, asked, closedMs, longestMs, largestLog, failures }));
