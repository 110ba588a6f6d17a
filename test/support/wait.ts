import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 5;

/**
 * Waits until `condition` returns something truthy and returns it; a condition that throws counts as not yet.
 * Fails with `what`, and the last error, after `timeoutMs`. @default 60 s, which only a hung test or a very busy machine needs
 */
export async function waitFor<T>(
  condition: () => T | Promise<T>,
  options: { readonly timeoutMs?: number; readonly what?: string } = {},
): Promise<NonNullable<T>> {
  const timeoutMs = options.timeoutMs ?? 60_000;
  const end = performance.now() + timeoutMs;
  let cause: unknown;
  for (;;) {
    try {
      const value = await condition();
      if (value !== false && value !== null && value !== undefined && value !== 0 && value !== '') return value;
      cause = undefined;
    } catch (error) {
      cause = error;
    }
    if (performance.now() > end) {
      throw new Error(`waited ${timeoutMs} ms in vain for ${options.what ?? String(condition)}`, { cause });
    }
    await delay(POLL_MS);
  }
}
