import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { cp, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { journalMigrations } from '../../src/core/journal/schema.ts';
import { MODEL_KEY } from '../support/canaries.ts';
import { contentsOf, FROZEN, HOMES, type HomeContents, type Manifest } from '../support/frozen-home.ts';
import { liveFrozenLife } from '../support/frozen-life.ts';
import { addLongTape, addQuarantine, fillRareRows } from '../support/frozen-rows.ts';
import { postgresPrograms, startPostgres } from '../support/postgres.ts';
import { tempFolder } from '../support/temp.ts';

/**
 * Builds the homes of `test/fixtures/homes/` with the code of this commit: `node test/scripts/build-frozen-home.ts`. The life is lived in a process
 * of its own, which ends by SIGKILL.
 */

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

/** Lines of newer versions of `pg_dump` that older ones of `psql` do not know. */
const RESTRICT = /^\\(?:un)?restrict .*\n/gmu;
const SELF = fileURLToPath(import.meta.url);
const [, , goal] = process.argv;
if (goal === undefined) await build();
else {
  await liveFrozenLife((lived) => {
    writeFileSync(goal, lived);
    process.kill(process.pid, 'SIGKILL');
  });
}

async function build(): Promise<void> {
  await using folder = await tempFolder();
  const home = join(folder.path, 'home');
  const commit = (await run('git', ['rev-parse', 'HEAD'])).stdout.trim();
  await liveAndDie(folder.path, home);
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
    mayEnd: {
      opened: 'it says that a process has the home open, and is deleted when that closes it',
      pairing: 'a code that nobody used is worthless after 10 minutes',
      shown_reactions: 'a reaction is taken away when the turn that it shows has ended',
    },
    homes: { main: await contentsOf(home), kim: await contentsOf(join(home, HOMES.kim)) },
  };
  requireWhole(manifest.homes.main);
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
  await freezePostgres(folder.path, home);
}

/** Throws if the life did not leave what it is meant to leave. */
function requireWhole({ rows, entries, files }: HomeContents): void {
  const kinds = 'session turn-start message intent turn-end anchor reset retract trim note'.split(' ');
  const missing = [
    ...kinds.filter((kind) => entries[kind] === undefined),
    ...['allowances', 'shown_reactions', 'pairing'].filter((table) => rows[table] === undefined),
    ...['spill', 'media', 'quarantine'].filter(
      (folder) => !Object.keys(files).some((path) => path.startsWith(`${folder}/`)),
    ),
  ];
  if (missing.length > 0) throw new Error(`The home has none of these: ${missing.join(', ')}`);
}

/** Lives in a process that is killed, and moves the home that it leaves to `home`. */
async function liveAndDie(folder: string, home: string): Promise<void> {
  const goal = join(folder, 'lived');
  const child = spawn(process.execPath, [SELF, goal], { stdio: ['ignore', 'inherit', 'inherit'], timeout: 300_000 });
  const [code, signal] = await once(child, 'exit');
  if (signal !== 'SIGKILL') throw new Error(`The life ended by itself: ${String(code ?? signal)}`);
  const lived = await readFile(goal, 'utf8');
  await rename(lived, home);
  await rm(dirname(lived), { recursive: true, force: true });
  const config = join(home, 'config.json');
  const text = await readFile(config, 'utf8');
  await writeFile(config, text.replaceAll(MODEL_KEY, 'a-key-of-nobody'), { mode: 0o600 });
}

/** Moves a copy of the home into PostgreSQL as `assistant store migrate` does, and dumps the database as SQL text. */
async function freezePostgres(folder: string, home: string): Promise<void> {
  const programs = postgresPrograms();
  if (programs === undefined) throw new Error('PostgreSQL is not installed, and the home in the database needs it');
  await using server = await startPostgres(programs);
  const url = await server.database();
  const moved = join(folder, 'moved', 'home');
  await cp(home, moved, { recursive: true });
  // Further assistants are not kept in PostgreSQL together with their main one.
  await rm(join(moved, 'agents'), { recursive: true, force: true });
  const config = JSON.parse(await readFile(join(moved, 'config.json'), 'utf8'));
  await writeFile(join(moved, 'config.json'), JSON.stringify({ ...config, agents: {} }), { mode: 0o600 });
  const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
  process.stdout.write('moving it into PostgreSQL\n');
  const { stdout } = await run(process.execPath, [main, '--home', moved, 'store', 'migrate', '--to', url], {
    timeout: 240_000,
  });
  process.stdout.write(stdout.replaceAll(folder, ''));
  const dump = await run(join(programs, 'pg_dump'), ['--no-owner', '--no-privileges', url], { maxBuffer: 2 ** 28 });
  await writeFile(join(FROZEN, 'postgres.sql.gz'), gzipSync(dump.stdout.replaceAll(RESTRICT, ''), { level: 9 }));
}
