import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { ifThere, replaceDurable } from '../../core/storage/files.ts';

const markSchema = z.object({
  store: z.string(),
  home: z.string(),
  owner: z.string(),
  /** The epoch in which the database was found to be behind this copy; it is to be sent again. */
  ahead: z.number().optional(),
  /** The boot of the machine (`bootId`) in which the copy was opened; absent where that is not known, and then the copy is synced. */
  boot: z.string().optional(),
});

/**
 * In the folder of a copy: which database and home it is of, and under which name its gateways claim. In the folder of a
 * machine that runs many homes, `home` is the place of the folder with a slash in front, which no home's name has.
 */
export type Mark = z.output<typeof markSchema>;

const MARK = 'store.json';

export async function readMark(folder: string): Promise<Mark | undefined> {
  const text = await ifThere(readFile(join(folder, MARK), 'utf8'));
  try {
    return text === undefined ? undefined : markSchema.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** Whether the machine did not start again since the copy was opened: it is not synced, so a part of it may be missing otherwise. */
export function isIntact(mark: Mark | undefined, boot: string | null): boolean {
  return mark?.boot === undefined || mark.boot === boot;
}

export async function writeMark(folder: string, mark: Mark): Promise<void> {
  await replaceDurable(join(folder, MARK), `${JSON.stringify(mark)}\n`);
}
