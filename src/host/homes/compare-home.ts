import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { contentsUnder, growsByLines, type Item } from '../../backup/contents.ts';
import { isKept, SETTINGS } from './file-changes.ts';
import { hashOf } from './files-cache.ts';
import { differing as differingTables, digestOfCache, digestOfStore } from './journal-digest.ts';
import { journalTables } from './journal-tables.ts';
import type { Postgres, StoredRow } from './postgres.ts';
import { hashOfStored, storedTapes, tapesIn } from './send-home.ts';
import { stat } from 'node:fs/promises';

/** What a folder and PostgreSQL both have of a home. */
export interface Compared {
  /** Of the journal. */
  readonly rows: number;
  readonly conversations: number;
  readonly files: number;
  /** What is not the same: tables, sessions and paths. */
  readonly differing: readonly string[];
}

interface Place {
  readonly postgres: Postgres;
  readonly name: string;
  readonly folder: string;
}

/**
 * Compares a home in a folder, which nobody writes, with what PostgreSQL has, by counts and hashes; `db`: its journal. With
 * `ownSettings` the folder may have other settings.
 */
export async function compareHome(
  place: Place & { readonly db: DatabaseSync; readonly ownSettings?: boolean },
): Promise<Compared> {
  const { postgres, name, folder, db } = place;
  const differs: string[] = [];
  let rows = 0;
  for (const table of journalTables(db)) {
    const here = digestOfCache(db, [table]);
    differs.push(...differingTables(here, await digestOfStore(postgres, name, [table])));
    rows += here[0]?.rows ?? 0;
  }
  const items = (await contentsUnder(folder, '')).filter(({ type, path }) => type !== 'folder' && isKept(path));
  const isGrowing = ({ type, path }: Item): boolean => type === 'file' && growsByLines(path);
  const tapes = await tapesIn(folder);
  const growing = items.filter(isGrowing).map(({ path }) => [`/${path}`, join(folder, path)] as const);
  differs.push(...(await differingTapes(place, new Map([...tapes, ...growing]))));
  differs.push(
    ...(await differingFiles(
      place,
      items.filter((item) => !isGrowing(item)),
    )),
  );
  const mayDiffer = place.ownSettings === true ? SETTINGS : null;
  const differing = differs.filter((what) => what !== mayDiffer);
  return { rows, conversations: tapes.size, files: items.length, differing };
}

async function differingTapes(
  { postgres, name }: Place,
  here: ReadonlyMap<string, string>,
): Promise<readonly string[]> {
  const differs: string[] = [];
  const there = await storedTapes(postgres, name);
  for (const [session, path] of here) {
    const { size } = await stat(path);
    const isSame =
      size === (there.get(session) ?? 0) &&
      (size === 0 || (await hashOf(path)) === (await hashOfStored(postgres, name, session)));
    if (!isSame) differs.push(session);
    there.delete(session);
  }
  return [...differs, ...there.keys()];
}

async function differingFiles({ postgres, name, folder }: Place, here: readonly Item[]): Promise<readonly string[]> {
  const differs: string[] = [];
  // Each piece has the hash that names it, and none is missing.
  const rows = await postgres.query(
    `SELECT path, size, mode, sha256, target, (
       SELECT count(*) = 0 FROM unnest(chunks) AS wanted LEFT JOIN assistant.chunks AS c ON c.home = $1 AND c.hash = wanted
       WHERE c.bytes IS NULL OR encode(sha256(c.bytes), 'hex') <> wanted
     ) AS whole FROM assistant.files WHERE home = $1`,
    [name],
  );
  const there = new Map(rows.map((row) => [String(row['path']), row]));
  for (const item of here) {
    const row = there.get(item.path);
    if (row === undefined || !(await isSame(folder, item, row))) differs.push(item.path);
    there.delete(item.path);
  }
  return [...differs, ...there.keys()];
}

async function isSame(folder: string, item: Item, row: StoredRow): Promise<boolean> {
  if (item.type === 'link') return row['target'] === item.target;
  const { size, mode } = item.facts;
  if (row['target'] !== null || row['whole'] !== true) return false;
  if (Number(row['size']) !== size || Number(row['mode']) !== (mode & 0o777)) return false;
  return (await hashOf(join(folder, item.path))) === row['sha256'];
}
