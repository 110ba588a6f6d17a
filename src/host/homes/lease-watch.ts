import type { Lease } from './lease.ts';
import type { StorageHealth } from '../../core/storage/storage-health.ts';
import { untilNextLook, type Clock } from '../../core/util/clock.ts';
import { AppError } from '../../core/util/errors.ts';

/** Parts of the lease: between two looks, and what is left of it when a renewal has not been answered for a while. */
const LOOK_PART = 0.1;
const LITTLE_PART = 0.3;

/**
 * Reports a lease that is not renewed while it still holds. Nothing may be sent after it ended, and a home that nobody writes to
 * has no other sign of a database that is away, so this is when the owner can be told.
 */
export function watchLease({
  lease,
  storage,
  clock,
}: {
  readonly lease: Pick<Lease, 'leaseMs' | 'leftMs' | 'lost'>;
  readonly storage: Pick<StorageHealth, 'failed'>;
  readonly clock: Clock;
}): Disposable {
  const { leaseMs } = lease;
  const everyMs = leaseMs * LOOK_PART;
  let timer: Disposable | undefined;
  let due = 0;
  // One look can come late, after a machine that slept.
  let wasLittle = false;
  const lookLater = (): void => {
    // The second look comes sooner, so that there is time to tell the owner.
    const ms = untilNextLook(clock, wasLittle ? everyMs / 2 : everyMs);
    due = clock.monotonic() + ms;
    timer = clock.timer(ms, look);
  };
  const look = (): void => {
    if (lease.lost.aborted) return;
    // A process that is too busy to look in time does not renew in time either, and that says nothing of the database.
    const isLate = clock.monotonic() - due > everyMs;
    const isLittle = !isLate && lease.leftMs < leaseMs * LITTLE_PART;
    if (isLittle && wasLittle) storage.failed(notRenewed());
    wasLittle = isLittle;
    lookLater();
  };
  lookLater();
  return { [Symbol.dispose]: () => timer?.[Symbol.dispose]() };
}

/** Resolves when a renewal was committed: while commits wait for a standby that is gone, PostgreSQL can be read all the same. */
export async function probeLease(lease: Pick<Lease, 'leaseMs' | 'leftMs' | 'renew'>): Promise<void> {
  await lease.renew();
  if (lease.leftMs < lease.leaseMs * LITTLE_PART) throw notRenewed();
}

function notRenewed(): AppError {
  return new AppError('store-unreachable', 'PostgreSQL does not answer');
}
