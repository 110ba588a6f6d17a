import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { contentsUnder } from '../../backup/contents.ts';
import { ensureDirectory, ifThere } from '../../core/storage/files.ts';
import { bootId } from '../../core/util/boot-id.ts';
import { AppError } from '../../core/util/errors.ts';
import { type Compared, compareHome } from './compare-home.ts';
import { HomeFiles } from './file-changes.ts';
import { bringFiles } from './files-cache.ts';
import { bringJournal } from './journal-cache.ts';
import { isIntact, writeMark } from './mark.ts';
import { claimForMove, type Moved, type MoveOptions, openMove, requireOurs, requireSame } from './move.ts';
import { keptByFolder } from './stored-home.ts';

/**
 * Moves a home from the database into its folder. The lock of the folder must be held. Until all of it is on the disk and the
 * same, the database has the home; from then on it is noted there that this folder has it, and no gateway claims it. Throws
 * `home-missing`, `home-incomplete`, `home-foreign`, `home-kept-by-folder` or `home-held` without a change, `home-differs`, and
 * as `Postgres` does.
 */
export async function moveOut(options: MoveOptions): Promise<Moved> {
  const { name, folder, state, migrations, tables, place, onStep, switchOver } = options;
  await using stack = new AsyncDisposableStack();
  const opened = await openMove(options, stack);
  const { postgres, mark, found } = opened;
  if (found !== undefined && found.keptBy !== null) {
    if (found.keptBy !== mark.owner) throw keptByFolder(found);
    await switchOver();
    return null;
  }
  requireOurs(opened, options);
  await ensureDirectory(folder);
  await writeMark(folder, mark);
  const lease = await claimForMove(opened, options, { keptBy: null, stack });
  onStep('Conversations and files are fetched');
  await bringFiles({
    ...options,
    postgres,
    lease,
    config: 'own',
    files: new HomeFiles({ postgres, lease, name, folder }),
  });
  onStep('The journal is fetched');
  await bringJournal({ postgres, lease, path: state, migrations, tables, isIntact: isIntact(mark, bootId()) });
  onStep('Both sides are compared');
  let compared: Compared;
  {
    using db = new DatabaseSync(state, { timeout: 250 });
    compared = await compareHome({ postgres, name, folder, db, ownSettings: true });
    requireSame(compared, name);
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  }
  await syncAll(folder, state);
  const rows = await postgres.query(
    `UPDATE assistant.homes SET kept_by = $3, kept_at = $4
     WHERE name = $1 AND epoch = $2 AND kept_by IS NULL AND lease_until > clock_timestamp() RETURNING 1`,
    [name, lease.epoch, mark.owner, place],
  );
  if (rows.length === 0) {
    throw new AppError('home-lost', `Another gateway took the home ${name} meanwhile. Stop it, and run this again.`);
  }
  await switchOver();
  return compared;
}

/** A copy's files are not synced when they are written, because the database has them. */
async function syncAll(folder: string, state: string): Promise<void> {
  const items = (await contentsUnder(folder, '')).filter(({ type }) => type !== 'link');
  for (const path of [state, ...items.map((item) => join(folder, item.path)), folder]) {
    await using handle = await ifThere(open(path, 'r'));
    await handle?.sync();
  }
}
