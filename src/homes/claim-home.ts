import { type Clock, sleep } from '../util/clock.ts';
import type { Logger } from '../util/log.ts';
import type { HomeStore } from './home-store.ts';
import type { Lease } from './lease.ts';
import { keptByFolder, readStoredHome, type StoredHome } from './stored-home.ts';

export interface ClaimHomeOptions {
  readonly store: Pick<HomeStore, 'postgres' | 'leases'>;
  readonly name: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** Ends the waiting for a home that another gateway runs; its reason is thrown. */
  readonly signal: AbortSignal;
  /** Called with each attempt to claim it that was in vain; what it throws ends the waiting. */
  readonly onWaiting?: (home: StoredHome) => Promise<void>;
}

/** Between two attempts to claim a home that another gateway runs, ms. */
const CLAIM_AGAIN_MS = 500;

/**
 * Claims one home, which is made when there is none of that name; waits while another gateway runs it. Throws
 * `home-kept-by-folder` when a folder has it, and as `Postgres` does.
 */
export async function claimHome({ store, name, clock, log, signal, onWaiting }: ClaimHomeOptions): Promise<Lease> {
  for (let tries = 0; ; tries += 1) {
    signal.throwIfAborted();
    const lease = await store.leases.claim(name);
    if (lease !== null) return lease;
    const found = await readStoredHome(store.postgres, name);
    if (found !== undefined && found.keptBy !== null) throw keptByFolder(found);
    if (found !== undefined) await onWaiting?.(found);
    if (tries === 0) log.info('homes: another gateway runs the home, waiting for it', { home: name });
    await sleep(clock, CLAIM_AGAIN_MS, signal);
  }
}
