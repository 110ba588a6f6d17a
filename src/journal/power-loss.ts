import { closeSync, existsSync, fsyncSync, openSync, readFileSync, rmSync } from 'node:fs';
import type { Database } from '../storage/database.ts';
import { doubtWhatWaits } from './outbox.ts';

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
    const isNew =
      existsSync(unconfirmed) || (before !== undefined && (boot === null || before.textOrNull('boot') !== boot));
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
}
