import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { chmod, lstat, mkdir, readFile, readlink, realpath, rm, stat, symlink } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { contentsUnder, type Item } from '../../backup/contents.ts';
import { tapeName } from '../../core/session/tape-name.ts';
import { ifThere, replaceLazy } from '../../core/storage/files.ts';
import { isBelow } from '../../core/security/paths/names.ts';
import { within } from '../../core/security/paths/rules.ts';
import { AppError } from '../../core/util/errors.ts';
import { isKept, SETTINGS, type HomeFiles, type StoredFile } from './file-changes.ts';
import { readTape } from './home-tapes.ts';
import type { Lease } from './lease.ts';
import type { Postgres, StoredRow } from './postgres.ts';
import { IS_UNNAMED } from './statements.ts';

export interface FilesCacheOptions {
  readonly postgres: Postgres;
  readonly lease: Pick<Lease, 'name' | 'epoch'>;
  /** Absolute path of the home's folder. */
  readonly folder: string;
  /** Absolute path of the folder with the tapes. */
  readonly sessions: string;
  readonly files: HomeFiles;
  /** Of which settings the home has: `own`: those of the folder, which are sent; `stored`: those of PostgreSQL. */
  readonly config: 'own' | 'stored';
}

/** How many files and bytes had to be fetched. */
export interface Fetched {
  files: number;
  bytes: number;
}

/** Bytes of a tape that are read at once. */
const PART_BYTES = 8 * 1024 * 1024;

/**
 * Makes the files of a home's copy what PostgreSQL has, by their hashes; what PostgreSQL does not have is removed. Nothing is synced,
 * because a copy is compared again after a power loss. Throws
 * `home-differs` when what was fetched is not what it should be, and `home-without-settings` when PostgreSQL has none.
 */
export async function bringFiles(options: FilesCacheOptions): Promise<Fetched> {
  const fetched: Fetched = { files: 0, bytes: 0 };
  const kept = new Set<string>(options.config === 'own' ? [SETTINGS] : []);
  for (const path of await bringTapes(options, fetched)) kept.add(path);
  for (const path of await bringOthers(options, fetched)) kept.add(path);
  for (const path of ['', 'sessions']) {
    for (const item of await contentsUnder(options.folder, path)) {
      const isOurs = item.path.startsWith('sessions/') || isKept(item.path);
      if (item.type !== 'folder' && isOurs && !kept.has(item.path)) await rm(join(options.folder, item.path));
    }
  }
  return fetched;
}

/**
 * Makes these files, which are those that PostgreSQL has, known. `files`: all of a copy that nobody changed since it was one; see
 * `openSeal`. Throws as `bringFiles` does when PostgreSQL has no settings.
 */
export async function bringNothing(
  { postgres, lease, files, config }: FilesCacheOptions,
  items: readonly Item[],
): Promise<Fetched> {
  const rows = await postgres.query('SELECT * FROM assistant.files WHERE home = $1', [lease.name]);
  const stored = new Map(rows.map((row) => [String(row['path']), toFile(row)]));
  if (config === 'stored' && !stored.has(SETTINGS)) throw withoutSettings(lease.name);
  for (const item of items) {
    const file = stored.get(item.path);
    if (file !== undefined) files.knows(item, file);
    else if (item.type === 'file' && isKept(item.path)) files.knows(item, grown(item.facts.size));
  }
  files.hasChunks(Array.from(stored.values()).flatMap(({ chunks }) => chunks));
  return { files: 0, bytes: 0 };
}

/** A file that grows by lines, which is kept as a tape. */
const grown = (size: number): StoredFile => ({ size, mode: 0o600, sha256: '', chunks: [], target: null });

/** Returns the paths of all below the home. */
async function bringTapes(options: FilesCacheOptions, fetched: Fetched): Promise<readonly string[]> {
  const { postgres, lease, folder, files } = options;
  const home = lease.name;
  const rows = await postgres.query(
    `SELECT session, max(at + size) AS size, encode(sha256(string_agg(bytes, ''::bytea ORDER BY at)), 'hex') AS hash
     FROM assistant.tapes WHERE home = $1 GROUP BY session`,
    [home],
  );
  const paths: string[] = [];
  for (const row of rows) {
    const session = String(row['session']);
    const size = Number(row['size']);
    const isTape = !session.startsWith('/');
    const path = isTape ? `sessions/${tapeName(session)}` : session.slice(1);
    paths.push(path);
    const at = await placeOf(folder, path);
    if ((await hashOf(at)) !== row['hash']) await fetchTape(options, { session, size, hash: row['hash'], at }, fetched);
    if (!isTape) await files.isSame(path, grown(size));
  }
  return paths;
}

async function fetchTape(
  { postgres, lease: { name: home } }: FilesCacheOptions,
  { session, size, hash, at }: { session: string; size: number; hash: unknown; at: string },
  fetched: Fetched,
): Promise<void> {
  const here = (await ifThere(readFile(at))) ?? Buffer.alloc(0);
  const isStart = here.length > 0 && here.length < size && (await isStartOf(postgres, { home, session, here }));
  const parts: Buffer[] = isStart ? [here] : [];
  for (let from = isStart ? here.length : 0; from < size; from += PART_BYTES) {
    const part = await readTape(postgres, { home, session, from, length: Math.min(PART_BYTES, size - from) });
    fetched.bytes += part.length;
    parts.push(part);
  }
  const bytes = Buffer.concat(parts);
  if (createHash('sha256').update(bytes).digest('hex') !== hash) throw differs(session);
  await mkdir(dirname(at), { recursive: true, mode: 0o700 });
  await replaceLazy(at, bytes);
  fetched.files += 1;
}

/** Whether PostgreSQL's tape begins with what is here. */
async function isStartOf(
  postgres: Postgres,
  { home, session, here }: { home: string; session: string; here: Buffer },
): Promise<boolean> {
  const [row] = await postgres.query(
    `SELECT encode(sha256(substring(string_agg(bytes, ''::bytea ORDER BY at) FROM 1 FOR $3::integer)), 'hex') AS hash
     FROM assistant.tapes WHERE home = $1 AND session = $2 AND at < $3`,
    [home, session, here.length],
  );
  return row?.['hash'] === createHash('sha256').update(here).digest('hex');
}

async function bringOthers(options: FilesCacheOptions, fetched: Fetched): Promise<readonly string[]> {
  const { postgres, lease, files } = options;
  const home = lease.name;
  const rows = await postgres.query('SELECT * FROM assistant.files WHERE home = $1 ORDER BY path', [home]);
  // No one else writes as long as the home is ours, so what no list names is left from a file that changed or from a transaction
  // that was given up. Another owner's would be of a file whose list is on its way.
  await postgres.query(
    `DELETE FROM assistant.chunks WHERE home = $1
     AND ${IS_UNNAMED}
     AND EXISTS (SELECT 1 FROM assistant.homes WHERE name = $1 AND epoch = $2)`,
    [home, lease.epoch],
  );
  const hashes = await postgres.query('SELECT hash FROM assistant.chunks WHERE home = $1', [home]);
  files.hasChunks(hashes.map((row) => String(row['hash'])));
  for (const row of rows) {
    const path = String(row['path']);
    const file = toFile(row);
    if (path === SETTINGS && options.config === 'own') continue;
    const at = await placeOf(options.folder, path);
    if (!(await isHere(at, file))) {
      // A link out of the home isn't made; one that the owner made in this folder stays.
      if (file.target !== null && !within(options.folder, resolve(dirname(at), file.target))) continue;
      await fetchFile(options, { path, at }, file, fetched);
    }
    await files.isSame(path, file);
  }
  const paths = rows.map((row) => String(row['path']));
  if (options.config === 'own') await keepOwn(options, rows);
  else if (!paths.includes(SETTINGS)) throw withoutSettings(home);
  return paths;
}

/**
 * Where a file of PostgreSQL's is in the folder of the home. Throws `home-unsafe` when that is outside, by the path itself or
 * by a link on its way.
 */
async function placeOf(folder: string, path: string): Promise<string> {
  const at = join(folder, path);
  let above = dirname(at);
  while (isBelow(path) && (await ifThere(lstat(above))) === undefined) above = dirname(above);
  if (isBelow(path) && within(await realpath(folder), await realpath(above))) return at;
  throw new AppError(
    'home-unsafe',
    `The database has a file that would be written outside the home (${JSON.stringify(path.slice(0, 200))}), so the home was not opened. Delete that row from assistant.files or assistant.tapes.`,
  );
}

/** The folder's own settings are sent unless PostgreSQL has the same. */
async function keepOwn({ folder, files }: FilesCacheOptions, rows: readonly StoredRow[]): Promise<void> {
  const row = rows.find(({ path }) => path === SETTINGS);
  const file = row === undefined ? undefined : toFile(row);
  if (file !== undefined && (await isHere(join(folder, SETTINGS), file))) await files.isSame(SETTINGS, file);
  else files.touched(SETTINGS);
}

async function isHere(at: string, file: StoredFile): Promise<boolean> {
  const facts = await ifThere(lstat(at));
  if (facts === undefined) return false;
  if (file.target !== null) return facts.isSymbolicLink() && (await readlink(at)) === file.target;
  if (!facts.isFile() || facts.size !== file.size) return false;
  return (await hashOf(at)) === file.sha256;
}

async function fetchFile(
  { postgres, lease: { name: home } }: FilesCacheOptions,
  { path, at }: { readonly path: string; readonly at: string },
  file: StoredFile,
  fetched: Fetched,
): Promise<void> {
  await mkdir(dirname(at), { recursive: true, mode: 0o700 });
  if (file.target !== null) {
    await rm(at, { force: true });
    await symlink(file.target, at);
    return;
  }
  const chunks: Uint8Array[] = [];
  for (const hash of file.chunks) {
    const [row] = await postgres.query('SELECT bytes FROM assistant.chunks WHERE home = $1 AND hash = $2', [
      home,
      hash,
    ]);
    if (row?.['bytes'] instanceof Uint8Array) chunks.push(row['bytes']);
  }
  const bytes = Buffer.concat(chunks);
  if (createHash('sha256').update(bytes).digest('hex') !== file.sha256) throw differs(path);
  await replaceLazy(at, bytes, { mode: file.mode });
  await chmod(at, file.mode);
  fetched.files += 1;
  fetched.bytes += bytes.length;
}

function toFile(row: StoredRow): StoredFile {
  return {
    size: Number(row['size']),
    mode: Number(row['mode']),
    sha256: String(row['sha256']),
    chunks: (row['chunks'] as readonly unknown[]).map(String),
    target: typeof row['target'] === 'string' ? row['target'] : null,
  };
}

/** Of a file's bytes, or of so many from its start, hex; undefined when it is not there. */
export async function hashOf(path: string, bytes = Infinity): Promise<string | undefined> {
  if ((await ifThere(stat(path))) === undefined) return undefined;
  const hash = createHash('sha256');
  if (bytes > 0) for await (const part of createReadStream(path, { end: bytes - 1 })) hash.update(part as Buffer);
  return hash.digest('hex');
}

function withoutSettings(home: string): AppError {
  return new AppError(
    'home-without-settings',
    `The database has no config.json of the home ${home}, so no gateway of many homes can run it. Start the assistant once in the folder that it comes from, with the setting store.`,
  );
}

function differs(what: string): AppError {
  return new AppError('home-differs', `${what} cannot be rebuilt from PostgreSQL: its pieces do not have its hash.`);
}
