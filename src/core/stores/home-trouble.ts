import * as z from 'zod';
import { resolveHome, type Environment } from '../config/environment.ts';
import { causesOf, deniedSentence, mayBeDenied } from '../storage/denied.ts';
import { classifyFailure, isStorageTrouble } from '../storage/storage-failure.ts';
import { storageSentence } from '../storage/storage-health.ts';
import { AppError, errorMessage } from '../util/errors.ts';

/** SQLITE_CORRUPT and SQLITE_NOTADB. */
const DAMAGE = new Set([11, 26]);
const sqliteError = z.object({ code: z.literal('ERR_SQLITE_ERROR'), errcode: z.number() });
/** What is wrong is said well enough, and is not the journal. */
const SAID = new Set(['lock-unusable', 'home-locked']);

/**
 * What is wrong with the files or the disk of a home, so that a command failed: the path, the cause and what to do. Null:
 * it failed for another reason, or its own message says it.
 */
export function homeTrouble(thrown: unknown, homeFlag: string | undefined, env: Environment): string | null {
  const home = resolveHome({ flag: homeFlag, env });
  const denied = mayBeDenied(thrown) ? deniedSentence(home) : null;
  if (denied !== null) return denied;
  const damage = causesOf(thrown).find((error) => DAMAGE.has((sqliteError.safeParse(error).data?.errcode ?? 0) & 0xff));
  if (damage !== undefined && !(thrown instanceof AppError && SAID.has(thrown.code))) {
    return storageSentence({ state: 'damaged', since: 0, reason: errorMessage(damage) }, home);
  }
  if (thrown instanceof AppError) return null;
  const kind = classifyFailure(thrown);
  return isStorageTrouble(kind) ? storageSentence({ state: kind, since: 0, reason: errorMessage(thrown) }, home) : null;
}
