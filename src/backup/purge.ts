import { existsSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { removeFolder } from '../core/storage/folders.ts';
import { within } from '../core/security/paths/rules.ts';
import type { Clock } from '../core/util/clock.ts';
import { AppError, errorMessage } from '../core/util/errors.ts';
import { existingStores } from '../core/landing/store.ts';
import { removeTree } from '../core/landing/view.ts';
import { lockHomes } from './lock-homes.ts';

/** What only the home of an assistant has together. */
const SIGNS = ['config.json', 'sessions', 'workspace'];

/**
 * Throws `not-a-home` for a folder that is not the home of an assistant, or that holds one of `spared`: the folder of the
 * person, or where the command runs.
 */
export function requireHome(home: string, spared: readonly string[]): void {
  const isHome = SIGNS.every((name) => existsSync(join(home, name)));
  const holdsMore = resolve(home) === '/' || spared.some((place) => within(home, place));
  if (isHome && !holdsMore) return;
  throw new AppError(
    'not-a-home',
    `${home} is not the home of an assistant alone, so it is not deleted. Name the home with --home, or delete what you mean by hand.`,
  );
}

/** Deletes a home with all that is in it. Throws `home-locked` while an assistant runs in it. */
export async function purgeHome(home: string, clock: Pick<Clock, 'now'>): Promise<void> {
  using _locks = await lockHomes(home, clock);
  try {
    // Views leave folders without rights, and those beside the workspace aren't in the home.
    const workspace = await realpath(join(home, 'workspace'));
    for (const store of existingStores(home, workspace)) await removeTree(store);
    await removeFolder(home);
  } catch (cause) {
    throw new AppError('purge-failed', `${home} could not be deleted: ${errorMessage(cause)}. Delete it by hand.`, {
      cause,
    });
  }
}
