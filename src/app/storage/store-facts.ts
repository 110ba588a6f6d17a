import type { StoreFacts } from '../../gateway/assistant-info.ts';
import type { HomeStore } from '../../homes/home-store.ts';
import type { OpenHome } from '../../homes/open-home.ts';
import type { Clock } from '../../util/clock.ts';

/** How far PostgreSQL has what this process wrote to its home, and whether the home still is its own. */
export function storeFacts({
  home: { lease, writer },
  store: { leases },
  clock,
}: {
  readonly home: Pick<OpenHome, 'lease' | 'writer'>;
  readonly store: Pick<HomeStore, 'leases'>;
  readonly clock: Clock;
}): StoreFacts {
  return {
    home: lease.name,
    epoch: lease.epoch,
    leaseUntil: Math.round(clock.now() + lease.leftMs),
    isHeld: lease.isHeld,
    behind: writer.behind,
    written: { ...writer.counts },
    failedRenewals: leases.failedRenewals,
    homes: leases.held,
  };
}
