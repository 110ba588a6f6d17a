import { closeSync, existsSync, fsyncSync, openSync, rmSync } from 'node:fs';
import type { Database } from '../storage/database.ts';
import { OPEN_OUTBOUND } from './rows.ts';

/** Stored instead of a boot id: the journal was closed in order, but the recovery of a power loss is not finished. */
const CLOSED = 'closed';

/** A file beside the journal that exists when the disk did not confirm a write, so that writes may be lost as after a power loss. */
const unconfirmedFile = (path: string): string => `${path}-unconfirmed`;

/** Creates that file for the next process. Never throws: the disk may refuse it. */
export function noteUnconfirmed(path: string): void {
  try {
    const file = openSync(unconfirmedFile(path), 'w', 0o600);
    try {
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
  } catch {
    // Without the file the next process trusts the journal as it finds it.
  }
}

/** Whether an earlier process ended without closing the journal. */
function wasLeftOpen(db: Database): boolean {
  return db.get('SELECT 1 FROM opened WHERE boot IS NOT ?', CLOSED) !== undefined;
}

/**
 * Notes that this process has the journal open. True when lazy writes of an earlier process may be lost, because it had the
 * journal open when the machine went down, or because the disk did not confirm a write. A killed process loses nothing: the
 * kernel has its writes. Without a boot id, every process that did not close the journal counts as a power loss. Stays true
 * for later processes until one calls `lossRecovered`.
 */
export async function openedAfterPowerLoss(
  db: Database,
  { path, boot }: { readonly path: string; readonly boot: string | null },
): Promise<boolean> {
  const unconfirmed = unconfirmedFile(path);
  const mayHaveLost = await db.write(() => {
    const before = db.get('SELECT boot, lost FROM opened');
    const wentDown = wasLeftOpen(db) && (boot === null || before?.textOrNull('boot') !== boot);
    const isNew = existsSync(unconfirmed) || wentDown;
    if (isNew) doubtWhatWaits(db);
    const lost = isNew || before?.number('lost') === 1;
    db.run('INSERT OR REPLACE INTO opened (id, boot, lost) VALUES (1, ?, ?)', boot, lost ? 1 : 0);
    return lost;
  });
  rmSync(unconfirmed, { force: true });
  return mayHaveLost;
}

/** Notes that recovery has adopted the turns that the journal lost. */
export function lossRecovered(db: Database): Promise<void> {
  return db.write(() => void db.run('UPDATE opened SET lost = 0'));
}

/** Notes, within the last transaction of a process, that it closed the journal. */
export function closedInOrder(db: Database): void {
  db.run('DELETE FROM opened WHERE lost = 0');
  db.run('UPDATE opened SET boot = ?', CLOSED);
}

/** SQL: an outbound message with a part that waits, or that is not rendered yet. */
const WAITS = `${OPEN_OUTBOUND} AND (state = 'pending' OR EXISTS (SELECT 1 FROM parts
  WHERE parts.outbound_id = outbound.id AND parts.state = 'pending'))`;

/**
 * Sets `doubt`, within a transaction, on waiting messages after a power loss: they may have been sent without a mark. The
 * doubt stays until they are sent, also over several processes.
 */
function doubtWhatWaits(db: Database): void {
  db.run(
    `UPDATE outbound SET doubt = CASE WHEN doubt = 'oldest' OR id IN (
       SELECT id FROM (
         SELECT id, row_number() OVER (
           PARTITION BY channel, chat, json_extract(payload, '$.threadId'), kind IN ('notice', 'approval') ORDER BY seq
         ) AS place FROM outbound WHERE ${WAITS}
       ) WHERE place = 1
     ) THEN 'oldest' ELSE 'later' END WHERE ${WAITS}`,
  );
}
