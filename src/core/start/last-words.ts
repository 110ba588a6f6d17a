import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** File in the home that says why the process ended although nobody stopped it. */
const FILE = '.last-words';

/** Leaves a sentence for the next process, which can reach the owner: why this one has to end. Never throws. */
export function leaveLastWords(home: string, sentence: string): void {
  try {
    writeFileSync(join(home, FILE), sentence, { mode: 0o600 });
  } catch {
    // The log has it.
  }
}

/** What the previous process left, which is then removed; null if it left nothing. */
export function takeLastWords(home: string): string | null {
  try {
    const text = readFileSync(join(home, FILE), 'utf8').trim();
    rmSync(join(home, FILE));
    return text === '' ? null : text;
  } catch {
    return null;
  }
}
