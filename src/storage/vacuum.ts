import { statSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { assistantCommand } from '../util/assistant-command.ts';
import { AppError, errorMessage } from '../util/errors.ts';
import { megabytes } from '../util/text.ts';

/** Bytes of a file before and after. */
export interface Vacuumed {
  readonly before: number;
  readonly after: number;
}

/**
 * Writes an SQLite file anew without the room of what was removed, made so that it can shrink by itself from then on.
 * Nobody else may have it open. Needs twice its size on the disk; throws `no-room` before it begins when there is less,
 * and `vacuum-failed` with the file as it was.
 */
export async function vacuumDatabase(path: string): Promise<Vacuumed> {
  const before = statSync(path).size;
  const { bavail, bsize } = await statfs(dirname(path));
  const free = bavail * bsize;
  if (free < 2 * before) {
    throw new AppError(
      'no-room',
      `${path} has ${megabytes(before)}, and making it smaller needs twice as much free room on the disk; there are ${megabytes(free)}. Make room, then run: ${assistantCommand('store vacuum')}`,
    );
  }
  try {
    using db = new DatabaseSync(path, { timeout: 250 });
    db.exec('PRAGMA auto_vacuum = INCREMENTAL; VACUUM; PRAGMA wal_checkpoint(TRUNCATE)');
  } catch (error) {
    throw new AppError('vacuum-failed', `${path} could not be made smaller: ${errorMessage(error)}. It is as it was.`, {
      cause: error,
    });
  }
  return { before, after: statSync(path).size };
}
