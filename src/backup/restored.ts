import { join } from 'node:path';
import { rm } from 'node:fs/promises';
import * as z from 'zod';
import { readIfExists, replaceDurable, syncDirectory } from '../storage/files.ts';

/** Lies in a restored home until its first start has told what expired. */
const MARK = 'restored.json';

const markSchema = z.object({
  /** When it was restored, and the moment of its backup; milliseconds since 1970. */
  at: z.number(),
  backupAt: z.number(),
});

export type Restoration = z.output<typeof markSchema>;

export async function markRestored(home: string, restoration: Restoration): Promise<void> {
  await replaceDurable(join(home, MARK), `${JSON.stringify(restoration)}\n`);
}

/** Undefined: the home was not restored, or a start has done all that follows from it. What cannot be read counts too. */
export async function readRestored(home: string): Promise<Restoration | undefined> {
  const text = await readIfExists(join(home, MARK));
  if (text === undefined) return undefined;
  try {
    return markSchema.parse(JSON.parse(text));
  } catch {
    return { at: 0, backupAt: 0 };
  }
}

export async function unmarkRestored(home: string): Promise<void> {
  await rm(join(home, MARK), { force: true });
  await syncDirectory(home);
}
