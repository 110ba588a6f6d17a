import { randomFillSync } from 'node:crypto';

/** Randomness as a port; tests pass a seeded one. */
export interface Random {
  /** `length` random bytes. */
  bytes(length: number): Uint8Array;
  /** A number in [0, 1). */
  fraction(): number;
}

/** Asking the system costs more than the bytes: they are fetched in stocks and handed out once. */
const stock = new Uint8Array(4096);
let used = stock.length;

function take(length: number): Uint8Array {
  if (length > stock.length) return randomFillSync(new Uint8Array(length));
  if (used + length > stock.length) {
    randomFillSync(stock);
    used = 0;
  }
  const bytes = stock.slice(used, used + length);
  stock.fill(0, used, used + length);
  used += length;
  return bytes;
}

export const systemRandom: Random = {
  bytes: take,
  fraction: () => new DataView(take(4).buffer).getUint32(0) / 2 ** 32,
};
