import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { lstat, readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { TapeEntry } from '../../src/core/session/entry.ts';
import { foldHistory } from '../../src/core/session/history.ts';
import { listTapes, readTape } from '../../src/core/session/reader.ts';

export const FROZEN = fileURLToPath(new URL('../fixtures/homes/', import.meta.url));
/** The homes inside the archive: the main assistant's and the second assistant's. */
export const HOMES = { main: '.', kim: 'agents/kim' } as const;

/** Everything that a program which opens the frozen home has to find in it again. */
/** A message of a conversation, and the turn in which it was said. */
export interface KeptMessage {
  readonly entryId: string;
  readonly turn: string | null;
  readonly message: { readonly role: string; readonly content?: unknown };
}

export interface HomeContents {
  /** Rows of the journal by table, without empty tables. */
  readonly rows: Readonly<Record<string, number>>;
  /** Entries of all tapes, by kind. */
  readonly entries: Readonly<Record<string, number>>;
  /** The messages that a model would be sent of each conversation, by its key. */
  readonly conversations: Readonly<Record<string, readonly KeptMessage[]>>;
  readonly facts: readonly Readonly<Record<string, unknown>>[];
  readonly jobs: readonly unknown[];
  readonly openQuestions: readonly Readonly<Record<string, unknown>>[];
  readonly openTurns: readonly Readonly<Record<string, unknown>>[];
  readonly people: readonly Readonly<Record<string, unknown>>[];
  /** SHA-256 of each file outside of the journal, by path. */
  readonly files: Readonly<Record<string, string>>;
}

export interface Manifest {
  readonly commit: string;
  /** Steps of the journal's schema. */
  readonly schema: number;
  /** Milliseconds since 1970. */
  readonly madeAt: number;
  /** Tables whose rows a start may delete, and why. */
  readonly mayEnd: Readonly<Record<string, string>>;
  readonly homes: Readonly<Record<keyof typeof HOMES, HomeContents>>;
}

/** Unpacks the frozen home into a folder. */
export async function unpackFrozenHome(folder: string): Promise<void> {
  await promisify(execFile)('tar', ['xzf', join(FROZEN, 'home.tar.gz'), '-C', folder]);
}

export async function readManifest(): Promise<Manifest> {
  return JSON.parse(await readFile(join(FROZEN, 'manifest.json'), 'utf8'));
}

/** Reads a home that no process has open. */
export async function contentsOf(home: string): Promise<HomeContents> {
  using db = new DatabaseSync(join(home, 'state.db'), { readOnly: true });
  const all = (sql: string): readonly Readonly<Record<string, unknown>>[] =>
    db
      .prepare(sql)
      .all()
      .map((row) => ({ ...row }));
  const tables = all("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name");
  const counts = tables.map(({ name }) => {
    const table = String(name);
    return [table, Number(db.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.['n'])] as const;
  });
  const conversations: Record<string, readonly KeptMessage[]> = {};
  const entries: Record<string, number> = {};
  const sessions = join(home, 'sessions');
  for (const { key } of await listTapes(sessions)) {
    const tape: TapeEntry[] = [];
    for await (const entry of readTape(sessions, key)) tape.push(entry);
    for (const { kind } of tape) entries[kind] = (entries[kind] ?? 0) + 1;
    conversations[key] = foldHistory(tape.toReversed()).messages;
  }
  return {
    rows: Object.fromEntries(counts.filter(([, count]) => count > 0)),
    entries: sorted(entries),
    conversations: sorted(conversations),
    facts: all('SELECT fact, how, session, turn, since, until, ended_how, replaced_by FROM facts ORDER BY seq'),
    jobs: await jobsOf(home),
    openQuestions: all(
      "SELECT kind, code, session, channel, chat, choices, request, deadline FROM questions WHERE state = 'waiting' ORDER BY call_id",
    ),
    openTurns: all("SELECT id, session, state FROM turns WHERE state IN ('running', 'stopping') ORDER BY id"),
    people: all('SELECT channel, user_id, role, name FROM people ORDER BY channel, user_id'),
    files: await filesOf(home),
  };
}

function sorted<T>(record: Readonly<Record<string, T>>): Readonly<Record<string, T>> {
  return Object.fromEntries(Object.entries(record).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

async function jobsOf(home: string): Promise<readonly unknown[]> {
  const path = join(home, 'workspace', 'cron', 'jobs.json');
  return existsSync(path) ? JSON.parse(await readFile(path, 'utf8')).jobs : [];
}

/** Hashes of the files of a home that a person would miss. */
async function filesOf(home: string): Promise<Readonly<Record<string, string>>> {
  const files: Record<string, string> = {};
  for (const entry of await readdir(home, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const name = relative(home, path);
    if (/^(?:state\.db|agents\/|prompts\/)/u.test(name) || !(await lstat(path)).isFile()) continue;
    files[name] = createHash('sha256')
      .update(await readFile(path))
      .digest('hex');
  }
  return sorted(files);
}
