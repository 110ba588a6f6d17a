import { join } from 'node:path';
import * as z from 'zod';
import { readIfExists, replaceDurable } from '../core/storage/files.ts';

/** Lies in a restored home. */
const MARK = 'restored.json';

const markSchema = z.object({
  /** When it was restored, and the moment of its backup; milliseconds since 1970. */
  at: z.number(),
  backupAt: z.number(),
  /** A start has ended what was open at the time of the backup, and told the owner. */
  hasEnded: z.boolean(),
});

export type Restoration = z.output<typeof markSchema>;

export async function markRestored(home: string, restoration: Restoration): Promise<void> {
  await replaceDurable(join(home, MARK), `${JSON.stringify(restoration)}\n`);
}

/** Undefined: the home was not restored. A mark that cannot be read counts. */
export async function readRestored(home: string): Promise<Restoration | undefined> {
  const text = await readIfExists(join(home, MARK));
  if (text === undefined) return undefined;
  try {
    return markSchema.parse(JSON.parse(text));
  } catch {
    return { at: 0, backupAt: 0, hasEnded: false };
  }
}
