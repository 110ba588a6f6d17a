import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** In the home: why the process ended although nobody stopped it. */
const FILE = '.last-words';

/** Leaves to the next process, which can reach the owner, why this one has to end. Never throws. */
export function leaveLastWords(home: string, sentence: string): void {
  try {
    writeFileSync(join(home, FILE), sentence, { mode: 0o600 });
  } catch {
    // The log has it.
  }
}

/** What the process before this one left, once; null: nothing. */
export function takeLastWords(home: string): string | null {
  try {
    const text = readFileSync(join(home, FILE), 'utf8').trim();
    rmSync(join(home, FILE));
    return text === '' ? null : text;
  } catch {
    return null;
  }
}
