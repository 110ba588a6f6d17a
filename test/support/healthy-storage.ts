import { StorageHealth } from '../../src/core/storage/storage-health.ts';
import type { Clock } from '../../src/core/util/clock.ts';
import { silentLog } from '../../src/core/util/log.ts';

/** A disk that takes whatever the probe takes. */
export function storageHealth(
  clock: Clock,
  probe: (neededBytes: number) => Promise<void> = async () => {},
): StorageHealth {
  return new StorageHealth({ clock, log: silentLog, startedAt: clock.now(), journal: 'state.db', probe });
}
