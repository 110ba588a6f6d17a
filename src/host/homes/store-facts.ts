import type { StoreFacts } from '../../core/gateway/assistant-info.ts';
import type { HomeStore } from './home-store.ts';
import type { OpenHome } from './open-home.ts';
import type { Clock } from '../../core/util/clock.ts';

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
