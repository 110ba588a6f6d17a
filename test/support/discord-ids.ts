const EPOCH_MS = 1_420_070_400_000n;
let last = 0n;

/** A new id as Discord makes them: by time, each larger than the one before. */
export function newSnowflake(at = Date.now()): string {
  const id = (BigInt(at) - EPOCH_MS) << 22n;
  last = id > last ? id : last + 1n;
  return String(last);
}
