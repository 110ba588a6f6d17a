import { randomFillSync } from 'node:crypto';

/** Randomness as a port; tests pass a seeded one. */
export interface Random {
  /** `length` random bytes. */
  bytes(length: number): Uint8Array;
  /** A number in [0, 1). */
  fraction(): number;
}

export const systemRandom: Random = {
  bytes: (length) => randomFillSync(new Uint8Array(length)),
  fraction: () => new DataView(randomFillSync(new Uint8Array(4)).buffer).getUint32(0) / 2 ** 32,
};
