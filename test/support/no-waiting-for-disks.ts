import fs from 'node:fs';
import { open } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { DatabaseSync } from 'node:sqlite';

/**
 * Set up before each file of the fast suite: files of this process are not flushed to the platter. What is lost when a
 * process is killed is the same; only a power loss would show the difference, and those are not tested in-process.
 */
const flag = Symbol.for('assistant.test.no-waiting-for-disks');
if (!Reflect.has(DatabaseSync.prototype, flag)) {
  const exec = Reflect.get(DatabaseSync.prototype, 'exec');
  Object.defineProperties(DatabaseSync.prototype, {
    [flag]: { value: true },
    exec: {
      value(this: DatabaseSync, sql: string): void {
        const waits = 'PRAGMA synchronous = NORMAL';
        // First of all, because the change to WAL mode waits for the disk too.
        exec.call(this, sql.includes(waits) ? `PRAGMA synchronous = OFF; ${sql.replace(waits, '')}` : sql);
      },
    },
  });
  await using handle = await open('/dev/null');
  for (const name of ['sync', 'datasync']) {
    Object.defineProperty(Object.getPrototypeOf(handle), name, { value: async () => {} });
  }
  Object.assign(fs, { fsyncSync: () => {}, fdatasyncSync: () => {} });
  syncBuiltinESMExports();
}
