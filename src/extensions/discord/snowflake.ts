import type { IdOrder } from '../../core/api-channels.ts';

/** Discord's ids hold the time at which they were made: milliseconds since 2015 above 22 other bits. */
const EPOCH_MS = 1_420_070_400_000;

/** Milliseconds since 1970. */
export function timeOf(id: string): number {
  return Number(BigInt(id) >> 22n) + EPOCH_MS;
}

/** The least id of that time. */
export function idAt(ms: number): string {
  return String(BigInt(Math.max(0, Math.floor(ms) - EPOCH_MS)) << 22n);
}

/** By age, as numbers; their texts have different lengths. */
export function compareIds(a: string, b: string): number {
  const difference = BigInt(a) - BigInt(b);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

/** The id just before it. */
function before(id: string): string {
  return String(BigInt(id) - 1n);
}

export const idsByAge: IdOrder = { compare: compareIds, before, timeOf, at: idAt };
