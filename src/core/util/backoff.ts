import type { Random } from './random.ts';

export interface Backoff {
  readonly firstMs: number;
  readonly maxMs: number;
}

/**
 * How long to wait after so many failures in a row (1 or more): doubled each time up to the maximum; with a `random`
 * ± 20%, so that callers that failed together do not all retry together.
 */
export function backoffMs(failures: number, { firstMs, maxMs }: Backoff, random?: Random): number {
  const base = Math.min(maxMs, firstMs * 2 ** Math.min(failures - 1, 30));
  return random === undefined ? base : Math.round(base * (0.8 + 0.4 * random.fraction()));
}
