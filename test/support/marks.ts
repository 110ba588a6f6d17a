import { DatabaseSync } from 'node:sqlite';
import { Marks, type MarksOptions } from '../../src/core/files/marks.ts';
import { markTable } from '../../src/core/journal/schema/files.ts';
import { Database } from '../../src/core/storage/database.ts';
import { systemClock } from '../../src/core/util/clock.ts';

/** A database in memory with the table of marks, which is durable at once. */
export function marksDatabase(): Database {
  const db = new DatabaseSync(':memory:');
  db.exec(markTable.sql);
  let commits = 0;
  const watermark = {
    failure: undefined,
    committed: () => (commits += 1),
    durable: async () => {},
    settled: async () => {},
    close: () => {},
  };
  return new Database(db, { path: ':memory:', clock: systemClock, watermark: () => watermark });
}

/** Marks without a journal around them. */
export function openMarks(options: Partial<MarksOptions> & Pick<MarksOptions, 'workspace'>): Marks {
  return new Marks({ db: marksDatabase(), clock: systemClock, ...options });
}
