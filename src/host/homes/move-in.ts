import { openDatabase, schemaOf } from '../../core/storage/open-database.ts';
import { raceAbort } from '../../core/util/clock.ts';
import { AppError } from '../../core/util/errors.ts';
import { compareHome } from './compare-home.ts';
import { HomeFiles, SETTINGS } from './file-changes.ts';
import { HomeWriter } from './home-writer.ts';
import { CACHE_STATE } from './journal-cache.ts';
import type { Lease } from './lease.ts';
import { writeMark } from './mark.ts';
import { claimForMove, type Moved, type MoveOptions, type Opened, openMove, requireFree, requireSame } from './move.ts';
import { sendHome } from './send-home.ts';
import { homeForeign, keptByFolder } from './stored-home.ts';

/**
 * Moves a home from its folder into the database. The lock of the folder must be held. Until the setting is written and the
 * last transaction committed, the folder has the home and no gateway claims what the database has; an attempt that was cut off is
 * repeated by another call, which sends what is missing. `isConfigured`: the setting names this database already. Throws
 * `home-foreign`, `home-kept-by-folder` or `home-held` without a change, `home-differs`, and as `Postgres` does.
 */
export async function moveIn(options: MoveOptions & { readonly isConfigured: boolean }): Promise<Moved> {
  const { name, folder, state, migrations, tables: parts, backupPath, isConfigured, switchOver } = options;
  await using stack = new AsyncDisposableStack();
  const opened = await openMove(options, stack);
  const { postgres, mark, isCopy, found } = opened;
  if (found !== undefined && found.keptBy === null && found.schema > 0) {
    if (isConfigured && isCopy) return null;
    throw homeForeign({ folder, name });
  }
  if (found !== undefined && found.keptBy !== null && found.keptBy !== mark.owner) throw keptByFolder(found);
  requireFree(found, mark);
  await writeMark(folder, mark);
  await take(opened, options);
  const lease = await claimForMove(opened, options, { keptBy: mark.owner, stack });
  using db = await openDatabase({ path: state, migrations, parts, backupPath });
  const trouble = new AbortController();
  const writer = openWriter(opened, lease, { ...options, trouble });
  const work = async (): Promise<Moved> => {
    const files = new HomeFiles({ postgres, lease, name, folder });
    await sendHome({ postgres, writer, name, folder, db, files, onStep: options.onStep });
    options.onStep('Both sides are compared');
    const compared = await compareHome({ postgres, name, folder, db });
    requireSame(compared, name);
    // The file is a copy from here on, and stands where the database does.
    db.exec(CACHE_STATE);
    db.prepare('REPLACE INTO cache_state VALUES (1, ?, 0)').run(lease.epoch);
    await switchOver();
    files.touched(SETTINGS);
    const { version, oldestReader } = schemaOf(db);
    await writer.also({
      text: 'UPDATE assistant.homes SET schema = $2, oldest_reader = $3, kept_by = NULL, kept_at = NULL WHERE name = $1',
      values: [name, version, oldestReader],
    });
    return compared;
  };
  return await raceAbort(work(), trouble.signal);
}

/** Notes in the database that this folder has the home, which is made when there is none. */
async function take(
  { postgres, mark, isCopy }: Opened,
  { name, folder, place }: Pick<MoveOptions, 'name' | 'folder' | 'place'>,
): Promise<void> {
  const rows = await postgres.query(
    `INSERT INTO assistant.homes AS home (name, kept_by, kept_at) VALUES ($1, $2, $3)
     ON CONFLICT (name) DO UPDATE SET kept_by = $2, kept_at = $3
     WHERE home.kept_by = $2 OR (home.kept_by IS NULL AND home.schema = 0 AND (home.revision = 0 OR $4)) RETURNING 1`,
    [name, mark.owner, place, isCopy],
  );
  if (rows.length === 0) throw homeForeign({ folder, name });
}

/** A move ends at an outage, and goes on with the next attempt. */
function openWriter(
  { postgres }: Opened,
  lease: Lease,
  { clock, log, trouble }: Pick<MoveOptions, 'clock' | 'log'> & { readonly trouble: AbortController },
): HomeWriter {
  const onTrouble = ({ message }: AppError): void =>
    trouble.abort(
      new AppError(
        'store-unreachable',
        `${message} The home stays in the folder. Run this again when it works; it goes on where it stopped.`,
      ),
    );
  return new HomeWriter({ postgres, lease, clock, log, onTrouble });
}
