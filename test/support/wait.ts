import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 5;
/** Between two looks of a long wait: some conditions read files or ask a server. */
const MOST_POLL_MS = 25;

/** `test/scripts/run-tests.ts` knows it by its name: what timed out may only have been slow. */
class WaitTimeoutError extends Error {
  override name = 'WaitTimeoutError';
}

/**
 * Waits until `condition` returns something truthy and returns it; a condition that throws counts as not yet.
 * Fails with `what`, and the last error, after `timeoutMs`. @default 60 s, which only a hung test or a very busy machine needs
 */
export async function waitFor<T>(
  condition: () => T | Promise<T>,
  options: { readonly timeoutMs?: number; readonly what?: string } = {},
): Promise<NonNullable<T>> {
  const timeoutMs = options.timeoutMs ?? 60_000;
  const begun = performance.now();
  let cause: unknown;
  for (;;) {
    try {
      const value = await condition();
      if (value !== false && value !== null && value !== undefined && value !== 0 && value !== '') return value;
      cause = undefined;
    } catch (error) {
      cause = error;
    }
    const waited = performance.now() - begun;
    if (waited > timeoutMs) {
      throw new WaitTimeoutError(`waited ${timeoutMs} ms in vain for ${options.what ?? String(condition)}`, { cause });
    }
    await delay(Math.min(MOST_POLL_MS, POLL_MS + waited / 20));
  }
}

/** Fails when something took longer than it may, ms; like a wait in vain, which may pass on a machine that is less busy. */
export function expectWithin(took: number, most: number, what: string): void {
  if (took >= most) throw new WaitTimeoutError(`${what} took ${Math.round(took)} ms, and may take ${most} ms`);
}
