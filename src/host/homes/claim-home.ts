import { backoffMs } from '../../core/util/backoff.ts';
import { type Clock, sleep } from '../../core/util/clock.ts';
import { AppError, errorMessage } from '../../core/util/errors.ts';
import type { Logger } from '../../core/util/log.ts';
import type { HomeStore } from './home-store.ts';
import type { Lease } from './lease.ts';
import { openHome, type OpenHome, type OpenHomeOptions } from './open-home.ts';
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
  /** Called when PostgreSQL cannot be reached any more while it waits. */
  readonly onUnreachable?: (error: AppError) => void;
}

/** Between two attempts to claim a home that another gateway runs, ms. */
const CLAIM_AGAIN_MS = 500;

/** Between two attempts while PostgreSQL cannot be reached. */
const UNREACHABLE = { firstMs: CLAIM_AGAIN_MS, maxMs: 3_000 };

/**
 * Claims one home, which is made when there is none of that name; waits while another gateway runs it, also through an outage of
 * PostgreSQL that begins meanwhile: the owner hears of that from the gateway that runs the home.
 */
async function claimHome(options: ClaimHomeOptions): Promise<Lease> {
  const { name, clock, log, signal, onUnreachable } = options;
  let isWaiting = false;
  for (let failures = 0; ;) {
    signal.throwIfAborted();
    try {
      const lease = await tryToClaim(options);
      if (lease !== null) return lease;
      if (!isWaiting) log.info('homes: another gateway runs the home, waiting for it', { home: name });
      isWaiting = true;
      failures = 0;
    } catch (error) {
      if (!isWaiting || !(error instanceof AppError) || error.code !== 'store-unreachable') throw error;
      failures += 1;
      if (failures === 1) log.warn('homes: not known who runs the home', { home: name, reason: errorMessage(error) });
      onUnreachable?.(error);
    }
    await sleep(clock, failures === 0 ? CLAIM_AGAIN_MS : backoffMs(failures, UNREACHABLE), signal);
  }
}

/** Null: another gateway runs it. */
async function tryToClaim({ store, name, onWaiting }: ClaimHomeOptions): Promise<Lease | null> {
  const lease = await store.leases.claim(name);
  if (lease !== null) return lease;
  const found = await readStoredHome(store.postgres, name);
  if (found !== undefined && found.keptBy !== null) throw keptByFolder(found);
  if (found !== undefined) await onWaiting?.(found);
  return null;
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
