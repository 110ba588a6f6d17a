import { closeSync, existsSync, fsyncSync, openSync, readFileSync, rmSync } from 'node:fs';
import type { Database } from '../storage/database.ts';
import { OPEN_OUTBOUND } from './rows.ts';

/** In the place of the machine's run: the journal was closed in order, with a recovery still to come. */
const CLOSED = 'closed';

/** Names this run of the machine's kernel; null where the system does not say. */
export function bootId(): string | null {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return null;
  }
}

/** Beside the journal: the disk did not confirm a write, so what was written before may be gone as after a power loss. */
const unconfirmedFile = (path: string): string => `${path}-unconfirmed`;

/** Tells the next process, as far as the disk takes that, that this one does not know what the journal has. */
export function noteUnconfirmed(path: string): void {
  try {
    const file = openSync(unconfirmedFile(path), 'w', 0o600);
    try {
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
  } catch {
    // Then it finds the journal as the kernel has it.
  }
}

/** Whether an earlier process had the journal open as it ended. Ask before `openedAfterPowerLoss` notes this one. */
export function wasLeftOpen(db: Database): boolean {
  return db.get('SELECT 1 FROM opened WHERE boot IS NOT ?', CLOSED) !== undefined;
}

/**
 * Notes that this process has the journal open. True when an earlier one had it open as the machine went down, or as the
 * disk did not confirm a write: then lazy writes of its last moments may be gone. What a killed process wrote is in the
 * kernel's hands and stays. Where nothing tells the machine's runs apart, every process that did not close the journal
 * counts as such. True for the processes after it too, until one calls `lossRecovered`.
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

/** What the session files have and the journal lost is taken up. */
export function lossRecovered(db: Database): Promise<void> {
  return db.write(() => void db.run('UPDATE opened SET lost = 0'));
}

/** Part of the last transaction of a process that closes the journal: everything is durable after it. */
export function closedInOrder(db: Database): void {
  db.run('DELETE FROM opened WHERE lost = 0');
  db.run('UPDATE opened SET boot = ?', CLOSED);
}

/** A part of it waits; of one that is not rendered, all of it. */
const WAITS = `${OPEN_OUTBOUND} AND (state = 'pending' OR EXISTS (SELECT 1 FROM parts
  WHERE parts.outbound_id = outbound.id AND parts.state = 'pending'))`;

/**
 * Part of a transaction: the machine lost power while an earlier process had the journal open, so what waits may have been
 * sent all the same. It stays in doubt until it is sent, however many processes that takes.
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
