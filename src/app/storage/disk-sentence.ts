import { resolveHome, type Environment } from '../../config/environment.ts';
import { classifyFailure, isStorageTrouble } from '../../storage/storage-failure.ts';
import { storageSentence } from '../../storage/storage-health.ts';
import { errorMessage } from '../../util/errors.ts';

/** What a disk that cannot be written did to a command; null: it failed for another reason. */
export function diskSentence(thrown: unknown, homeFlag: string | undefined, env: Environment): string | null {
  const kind = classifyFailure(thrown);
  if (!isStorageTrouble(kind)) return null;
  return storageSentence({ state: kind, since: 0, reason: errorMessage(thrown) }, resolveHome({ flag: homeFlag, env }));
}
