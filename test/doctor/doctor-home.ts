import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { PROGRAM, TABLES } from '../support/extensions.ts';
import { initHome } from '../../src/core/config/init.ts';
import { homePaths, type HomePaths } from '../../src/core/config/home.ts';
import { journalMigrations } from '../../src/core/journal/schema.ts';
import { openDatabase } from '../../src/core/storage/open-database.ts';
import { CommandLine } from '../cli/command-line.ts';
import { temporaryFolder } from '../config/temporary-home.ts';

export interface Row {
  readonly id: string;
  readonly state: 'ok' | 'note' | 'warning' | 'failed' | 'skipped';
  readonly evidence: string;
  readonly remedy: string | null;
}

export interface Report {
  readonly code: number;
  readonly version: number;
  readonly ok: boolean;
  readonly checks: readonly Row[];
  readonly mended?: readonly string[];
}

/** What `assistant doctor --json` says in the home of a command line. */
export async function doctor(line: CommandLine, ...flags: readonly string[]): Promise<Report> {
  line.out = '';
  line.err = '';
  const code = await line.run('doctor', '--json', ...flags);
  if (line.err !== '') throw new Error(line.err);
  return { code, ...(JSON.parse(line.out) as Omit<Report, 'code'>) };
}

/** What is wrong, without what is only worth knowing. */
export function faults({ checks }: Report): readonly Row[] {
  return checks.filter(({ state }) => state === 'warning' || state === 'failed');
}

/** A home as `init` leaves it, with these settings; no port is taken by it. */
export async function furnishedHome(
  settings: Readonly<Record<string, unknown>> = {},
  line: CommandLine = new CommandLine(),
): Promise<{ readonly line: CommandLine; readonly paths: HomePaths }> {
  const home = line.env['ASSISTANT_HOME'] ?? line.home;
  const paths = homePaths(home);
  await initHome(paths, PROGRAM, { config: JSON.stringify({ gateway: { port: 0 }, ...settings }, null, 2) });
  line.env = { PATH: process.env['PATH'] ?? '', HOME: temporaryFolder(), ...line.env };
  return { line, paths };
}

/** Fills the journal of a home that no assistant uses. */
export async function withJournal({ state }: HomePaths, fill: (db: DatabaseSync) => void = () => {}): Promise<void> {
  (await openDatabase({ path: state, migrations: journalMigrations, parts: TABLES, backupPath: null })).close();
  using db = new DatabaseSync(state);
  fill(db);
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
}

export interface StubServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
}

/** A server that gives each path a fixed answer, and every other one 404. */
export async function startStub(
  answers: Readonly<Record<string, { readonly status?: number; readonly body?: unknown }>>,
  headers: Readonly<Record<string, string>> = {},
): Promise<StubServer> {
  const server = createServer((request, response) => {
    const { status = 200, body = {} } = answers[request.url ?? ''] ?? { status: 404 };
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Writes a file and the folders above it. */
export function put(path: string, text: string, mode = 0o600): void {
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, text, { mode });
}
