import { type Clock, sleep } from '../util/clock.ts';
import { AppError } from '../util/errors.ts';
import type { Logger } from '../util/log.ts';
import type { HomeStore } from './home-store.ts';
import type { Lease } from './lease.ts';
import { openHome, type OpenHome, type OpenHomeOptions } from './open-home.ts';
import { keptByFolder, readStoredHome, type StoredHome } from './stored-home.ts';

interface ClaimHomeOptions {
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

/** Claims one home, which is made when there is none of that name; waits while another gateway runs it. */
async function claimHome({ store, name, clock, log, signal, onWaiting }: ClaimHomeOptions): Promise<Lease> {
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

/**
 * Claims a home and opens it; waits while another gateway runs it, and again when one claims it meanwhile. Throws
 * `home-kept-by-folder` when a folder has it, and as `openHome` does.
 */
export async function claimAndOpen(options: ClaimHomeOptions & Omit<OpenHomeOptions, 'lease'>): Promise<OpenHome> {
  for (;;) {
    const lease = await claimHome(options);
    try {
      return await openHome({ ...options, lease });
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'home-lost') throw error;
    }
  }
}
