import { statSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { assistantCommand } from '../util/assistant-command.ts';
import { AppError, errorMessage } from '../util/errors.ts';
import { megabytes } from '../util/text.ts';

/** Size of the file in bytes, before and after. */
export interface Vacuumed {
  readonly before: number;
  readonly after: number;
}

/**
 * Rewrites an SQLite file without unused space, and turns on incremental vacuum, so that it can shrink later without
 * this. No one else may have it open. Throws `no-room` before it begins if less than twice the file's size is free, and
 * `vacuum-failed` if it fails; the file is unchanged then.
 */
export async function vacuumDatabase(path: string): Promise<Vacuumed> {
  const before = statSync(path).size;
  const { bavail, bsize } = await statfs(dirname(path));
  const free = bavail * bsize;
  if (free < 2 * before) {
    throw new AppError(
      'no-room',
      `${path} has ${megabytes(before)}. Making it smaller needs twice as much free space on its disk, and only ${megabytes(free)} are free. Free some space, then run: ${assistantCommand('store vacuum')}`,
    );
  }
  try {
    using db = new DatabaseSync(path, { timeout: 250 });
    db.exec('PRAGMA auto_vacuum = INCREMENTAL; VACUUM; PRAGMA wal_checkpoint(TRUNCATE)');
  } catch (error) {
    throw new AppError(
      'vacuum-failed',
      `${path} could not be made smaller: ${errorMessage(error)}. The file is unchanged.`,
      {
        cause: error,
      },
    );
  }
  return { before, after: statSync(path).size };
}
