import type { Mutant } from './mutants.ts';

/** Some of the mutants, the same for the same seed: one of each file before a second of any, and so on. */
export function sampleOf(
  mutants: readonly Mutant[],
  { size, seed }: { readonly size: number; readonly seed: number },
): readonly Mutant[] {
  if (size >= mutants.length) return mutants;
  const turns = new Map<string, number>();
  return mutants
    .map((mutant) => ({ mutant, at: mixed(`${seed} ${mutant.name}`) }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ mutant }) => {
      const turn = turns.get(mutant.file) ?? 0;
      turns.set(mutant.file, turn + 1);
      return { mutant, turn };
    })
    .toSorted((a, b) => a.turn - b.turn)
    .slice(0, size)
    .map(({ mutant }) => mutant);
}

/** A number of 32 bits that depends on every character (FNV-1a). */
function mixed(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}
