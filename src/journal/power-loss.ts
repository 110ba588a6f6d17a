import { readFileSync } from 'node:fs';
import type { Database } from '../storage/database.ts';

/** Names this run of the machine's kernel; null where the system does not say. */
export function bootId(): string | null {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return null;
  }
}

/**
 * Notes that this process has the journal open. True when an earlier one had it open as the machine went down: then
 * lazy writes of its last moments may be gone. What a killed process wrote is in the kernel's hands and stays. Where
 * nothing tells the machine's runs apart, every process that did not close the journal counts as such.
 */
export async function openedAfterPowerLoss(db: Database, boot: string | null): Promise<boolean> {
  const before = db.get('SELECT boot FROM opened');
  await db.write(() => db.run('INSERT OR REPLACE INTO opened (id, boot) VALUES (1, ?)', boot));
  return before !== undefined && (boot === null || before.textOrNull('boot') !== boot);
}

/** Part of the last transaction of a process that closes the journal: everything is durable after it. */
export function closedInOrder(db: Database): void {
  db.run('DELETE FROM opened');
}
