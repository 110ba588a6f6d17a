import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { journalMigrations } from '../../src/journal/schema.ts';
import { contentsOf, FROZEN, HOMES, type Manifest } from '../support/frozen-home.ts';
import { liveFrozenLife } from '../support/frozen-life.ts';
import { addLongTape, addQuarantine, fillRareRows } from '../support/frozen-rows.ts';
import { postgresPrograms, startPostgres } from '../support/postgres.ts';
import { tempFolder } from '../support/temp.ts';

/** Builds the home of `test/fixtures/homes/` with the code of this commit: `node test/scripts/build-frozen-home.ts` */

const run = promisify(execFile);
/** Locks, sockets, logs, and an index that is rebuilt from the tapes. */
const NOT_KEPT = [
  'lock',
  'lock.holder',
  'control.sock',
  'logs',
  'sandbox',
  'search.db',
  'search.db-wal',
  'search.db-shm',
  '.probe',
  'probe',
];

await using folder = await tempFolder();
const home = join(folder.path, 'home');
const commit = (await run('git', ['rev-parse', 'HEAD'])).stdout.trim();
await liveFrozenLife(home);
const madeAt = Date.now();
for (const path of Object.values(HOMES)) {
  const one = join(home, path);
  for (const name of NOT_KEPT) await rm(join(one, name), { recursive: true, force: true });
  using db = new DatabaseSync(join(one, 'state.db'));
  if (path === HOMES.main) {
    fillRareRows(db, madeAt);
    addLongTape(one, madeAt);
    addQuarantine(one);
  }
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  const tables = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").all();
  for (const { name } of tables) {
    const columns = db.prepare(`SELECT name FROM pragma_table_info('${String(name)}')`).all();
    const filled = columns.map((column) => `count(${String(column['name'])}) AS ${String(column['name'])}`);
    const row = db.prepare(`SELECT ${filled.join(', ')} FROM ${String(name)}`).get() ?? {};
    const empty = Object.entries(row).filter(([, count]) => count === 0);
    if (empty.length > 0)
      process.stdout.write(`${path} ${String(name)}: ${empty.map(([column]) => column).join(', ')}: always empty\n`);
  }
}
const manifest: Manifest = {
  commit,
  schema: journalMigrations.length,
  madeAt,
  homes: { main: await contentsOf(home), kim: await contentsOf(join(home, HOMES.kim)) },
};
for (const path of Object.values(HOMES)) {
  // Reading a database in WAL mode leaves these behind, empty.
  for (const end of ['-wal', '-shm']) await rm(join(home, path, `state.db${end}`), { force: true });
}
await mkdir(FROZEN, { recursive: true });
await run('tar', [
  '--sort=name',
  '--owner=0',
  '--group=0',
  '--numeric-owner',
  '-czf',
  join(FROZEN, 'home.tar.gz'),
  '-C',
  home,
  '.',
]);
await writeFile(join(FROZEN, 'manifest.json'), `${JSON.stringify(manifest, null, 1)}\n`);
process.stdout.write(`${JSON.stringify(manifest.homes.main.rows)}\n${JSON.stringify(manifest.homes.main.entries)}\n`);
await freezePostgres();

/** Moves a copy of the home into PostgreSQL as `assistant store migrate` does, and dumps the database as SQL text. */
async function freezePostgres(): Promise<void> {
  const programs = postgresPrograms();
  if (programs === undefined) throw new Error('PostgreSQL is not installed, and the home in the database needs it');
  await using server = await startPostgres(programs);
  const url = await server.database();
  const moved = join(folder.path, 'moved', 'home');
  await cp(home, moved, { recursive: true });
  // Further assistants are not kept in PostgreSQL together with their main one.
  await rm(join(moved, 'agents'), { recursive: true, force: true });
  const config = JSON.parse(await readFile(join(moved, 'config.json'), 'utf8'));
  await writeFile(join(moved, 'config.json'), JSON.stringify({ ...config, agents: {} }), { mode: 0o600 });
  const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
  process.stdout.write('moving it into PostgreSQL\n');
  const { stdout } = await run(process.execPath, [main, '--home', moved, 'store', 'migrate', '--to', url], {
    timeout: 60_000,
  });
  process.stdout.write(stdout.replaceAll(folder.path, ''));
  const dump = await run(join(programs, 'pg_dump'), ['--no-owner', '--no-privileges', url], { maxBuffer: 2 ** 28 });
  await writeFile(join(FROZEN, 'postgres.sql.gz'), gzipSync(dump.stdout, { level: 9 }));
}
