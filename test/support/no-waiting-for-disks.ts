import { open } from 'node:fs/promises';
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
        exec.call(this, sql.replace('synchronous = NORMAL', 'synchronous = OFF'));
      },
    },
  });
  await using handle = await open('/dev/null');
  Object.defineProperty(Object.getPrototypeOf(handle), 'datasync', { value: async () => {} });
}
