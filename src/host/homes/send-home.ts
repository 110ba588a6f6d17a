import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import { contentsUnder } from '../../backup/contents.ts';
import { readTapeKey } from '../../core/session/tape.ts';
import { keyOfTapeName } from '../../core/session/tape-name.ts';
import type { HomeFiles } from './file-changes.ts';
import { hashOf } from './files-cache.ts';
import type { HomeWriter } from './home-writer.ts';
import type { TableChanges } from './journal-changes.ts';
import { differing, digestOfCache, digestOfStore } from './journal-digest.ts';
import { type JournalTable, journalTables } from './journal-tables.ts';
import type { Postgres } from './postgres.ts';
import { IS_UNNAMED } from './statements.ts';
import { quoted } from './stored-values.ts';

export interface SendOptions {
  readonly postgres: Postgres;
  readonly writer: HomeWriter;
  /** Of the home. */
  readonly name: string;
  /** Called with how many parts were done, of how many. */
  readonly onPart?: (done: number, of: number) => void;
}

/** Bytes of a tape, or of rows of the journal, in one transaction. */
const PART_BYTES = 4 * 1024 * 1024;
const ROWS = 2_000;

/** The tapes of a folder: file by session. */
export async function tapesIn(folder: string): Promise<ReadonlyMap<string, string>> {
  const tapes = new Map<string, string>();
  for (const { type, path } of await contentsUnder(folder, 'sessions')) {
    if (type !== 'file') continue;
    const session = keyOfTapeName(path.slice('sessions/'.length)) ?? (await readTapeKey(join(folder, path)));
    if (session !== undefined) tapes.set(session, join(folder, path));
  }
  return tapes;
}

/** The hash of a tape that PostgreSQL has, hex. */
export async function hashOfStored(postgres: Postgres, home: string, session: string): Promise<string> {
  const [row] = await postgres.query(
    `SELECT encode(sha256(string_agg(bytes, ''::bytea ORDER BY at)), 'hex') AS hash
     FROM assistant.tapes WHERE home = $1 AND session = $2`,
    [home, session],
  );
  return String(row?.['hash']);
}

/** Bytes of each tape that PostgreSQL has, by session; those of files that grow by lines begin with a slash. */
export async function storedTapes(postgres: Postgres, home: string): Promise<Map<string, number>> {
  const rows = await postgres.query(
    'SELECT session, max(at + size) AS size FROM assistant.tapes WHERE home = $1 GROUP BY session',
    [home],
  );
  return new Map(rows.map((row) => [String(row['session']), Number(row['size'])]));
}

/**
 * Makes the tapes of PostgreSQL those of a folder, while the folder has the home. What is there of an earlier attempt is not sent
 * again, and what the folder does not have goes.
 */
export async function sendTapes({
  postgres,
  writer,
  name,
  folder,
  onPart,
}: SendOptions & { readonly folder: string }): Promise<void> {
  const tapes = await tapesIn(folder);
  const stored = await storedTapes(postgres, name);
  const gone = Array.from(stored.keys()).filter((session) => !session.startsWith('/') && !tapes.has(session));
  for (const session of gone) await writer.change({ session, at: 0, bytes: new Uint8Array(), cuts: true });
  let done = 0;
  for (const [session, path] of tapes) {
    const there = stored.get(session) ?? 0;
    await using file = await open(path, 'r');
    const { size } = await file.stat();
    const isStart =
      there > 0 && there <= size && (await hashOfStored(postgres, name, session)) === (await hashOf(path, there));
    let at = isStart ? there : 0;
    if (!isStart && there > 0) await writer.change({ session, at: 0, bytes: new Uint8Array(), cuts: true });
    while (at < size) {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.min(PART_BYTES, size - at)), 0, undefined, at);
      await writer.change({ session, at, bytes: buffer.subarray(0, bytesRead), cuts: false });
      at += bytesRead;
    }
    done += 1;
    onPart?.(done, tapes.size);
  }
}

/**
 * Makes all that PostgreSQL has of a home what a folder has, in whose journal `db` nobody writes. What is there already is not
 * sent again. The writer goes on with the folder's files afterwards, and with no rows.
 */
export async function sendHome({
  folder,
  db,
  files,
  onStep,
  ...send
}: Omit<SendOptions, 'onPart'> & {
  readonly folder: string;
  readonly db: DatabaseSync;
  /** Of the folder; knows nothing yet. */
  readonly files: HomeFiles;
  /** Called with what is being done, in words. */
  readonly onStep: (step: string) => void;
}): Promise<void> {
  const { postgres, writer, name } = send;
  // The list of files is short and sent anew; older copies elsewhere are to be rebuilt.
  await writer.also(
    ...[
      'DELETE FROM assistant.files WHERE home = $1',
      "DELETE FROM assistant.tapes WHERE home = $1 AND session LIKE '/%'",
      'DELETE FROM assistant.gone WHERE home = $1',
      'DELETE FROM assistant.epochs WHERE home = $1',
    ].map((text) => ({ text, values: [name] })),
  );
  const told = (what: string) => (done: number, of: number) => onStep(`${what}: ${done} of ${of}`);
  onStep('Conversations are sent');
  await sendTapes({ ...send, folder, onPart: told('Conversations are sent') });
  onStep('Files are sent');
  const chunks = await postgres.query('SELECT hash FROM assistant.chunks WHERE home = $1', [name]);
  files.hasChunks(chunks.map((row) => String(row['hash'])));
  files.touched('');
  writer.keep(files);
  await writer.also({
    text: `DELETE FROM assistant.chunks WHERE home = $1
      AND ${IS_UNNAMED}`,
    values: [name],
  });
  onStep('The journal is sent');
  await sendJournal({ ...send, db, onPart: told('The journal is sent, tables') });
}

/**
 * Makes the rows of PostgreSQL those of a journal that nobody writes, table by table and in parts; a table that is the same
 * is left alone. The writer sends no other rows afterwards.
 */
async function sendJournal({
  postgres,
  writer,
  name,
  db,
  onPart,
}: SendOptions & { readonly db: DatabaseSync }): Promise<void> {
  const tables = journalTables(db);
  let next: readonly TableChanges[] = [];
  const rows = db.prepare('SELECT name, seq FROM sqlite_sequence ORDER BY name').all();
  const sequences = Object.fromEntries(rows.map((row) => [String(row['name']), Number(row['seq'])]));
  writer.attach({
    commits: 0,
    sequences: () => sequences,
    take: () => {
      const taken = next;
      next = [];
      return taken;
    },
  });
  for (const [at, table] of tables.entries()) {
    const here = digestOfCache(db, [table]);
    if (differing(here, await digestOfStore(postgres, name, [table])).length > 0) {
      let whole = true;
      for (const part of parts(db, table)) {
        next = [{ table, rows: part, gone: [], whole }];
        whole = false;
        await writer.written();
      }
    }
    onPart?.(at + 1, tables.length);
  }
  await writer.written();
}

/** The rows of a table; at least one part, which may be empty. */
function* parts(db: DatabaseSync, table: JournalTable): Generator<readonly (readonly SQLOutputValue[])[]> {
  const columns = table.columns.map(({ name }) => quoted(name)).join(', ');
  const statement = db.prepare(`SELECT ${columns} FROM ${quoted(table.name)}`);
  statement.setReturnArrays(true);
  let part: SQLOutputValue[][] = [];
  let bytes = 0;
  let any = false;
  for (const row of statement.iterate() as unknown as Iterable<SQLOutputValue[]>) {
    part.push(row);
    for (const value of row) bytes += typeof value === 'string' || value instanceof Uint8Array ? value.length : 8;
    if (part.length < ROWS && bytes < PART_BYTES) continue;
    yield part;
    any = true;
    part = [];
    bytes = 0;
  }
  if (part.length > 0 || !any) yield part;
}
