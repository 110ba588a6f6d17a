import type { DatabaseSync } from 'node:sqlite';
import { Row } from '../storage/database.ts';
import { openToRead } from '../storage/open-database.ts';
import { errorMessage } from '../util/errors.ts';
import { noUsage, type Usage } from '../util/token-usage.ts';
import { HOME_FILES, homeFilesOf } from './home-files.ts';
import { MODEL_FACTS, modelFactOf } from './model-facts.ts';
import type { ModelFact } from '../util/model-fact.ts';
import type { HomeFileRecord } from '../storage/home-files.ts';
import { asPairedRole, type Person } from './people.ts';
import { journalMigrations } from './schema.ts';
import { CORE_VIEWS } from './tables.ts';

const DAY_MS = 86_400_000;

/** One model call. */
export interface RecordedCall {
  readonly source: string;
  readonly usage: Usage;
  /** Null: the price is not known. */
  readonly costUsd: number | null;
}

/** What model calls used up: tokens, and US dollars as far as prices are known. */
export interface SpentTokens {
  readonly tokens: number;
  readonly costUsd: number;
}

/** How many messages are in a state, and since when, ms since 1970. */
export interface Waiting {
  readonly count: number;
  readonly oldest: number;
}

/**
 * Reads a journal without changing a byte of its home, whether or not an assistant has it open. Never migrates.
 */
export class JournalReader implements Disposable {
  /** Schema version of the file; less than `newestSchema` if the next start will migrate it. */
  readonly schema: number;
  readonly #db: DatabaseSync;

  private constructor(db: DatabaseSync) {
    this.#db = db;
    db.exec(CORE_VIEWS);
    this.schema = Number(db.prepare('PRAGMA user_version').get()?.['user_version'] ?? 0);
  }

  /** Schema version of this program. */
  readonly newestSchema = journalMigrations.length;

  /** Opens a file, which must exist. `isOpen`: another process has it open. Throws SQLite's error if it is not a database. */
  static open(path: string, { isOpen }: { readonly isOpen: boolean }): JournalReader {
    const db = openToRead(path, { isOpen });
    try {
      return new JournalReader(db);
    } catch (error) {
      db.close();
      throw error;
    }
  }

  /** The oldest schema version whose programs may use the file. */
  get oldestReader(): number {
    return this.#hasTable('schema_reader')
      ? (this.#rows('SELECT min FROM schema_reader')[0]?.number('min') ?? this.schema)
      : this.schema;
  }

  /** The first five faults that `PRAGMA quick_check` reports; none: the file is sound. Reads the whole file. */
  damage(): readonly string[] {
    return this.#rows('PRAGMA quick_check(5)').flatMap((row) => {
      const said = row.text('quick_check');
      return said === 'ok' ? [] : [said];
    });
  }

  /** Share of the file that is free pages, 0 to 1. */
  freeShare(): number {
    const [free, all] = ['freelist_count', 'page_count'].map((name) =>
      this.#rows(`PRAGMA ${name}`).reduce((_, row) => row.number(name), 0),
    );
    return (free ?? 0) / Math.max(1, all ?? 1);
  }

  people(): readonly Pick<Person, 'channel' | 'id' | 'role'>[] {
    return this.#rows('SELECT channel, user_id, role FROM people').map((row) => ({
      channel: row.text('channel'),
      id: row.text('user_id'),
      role: asPairedRole(row.text('role')),
    }));
  }

  /** Of each session the newest turn that was answered and whose messages are still kept. */
  newestAnswered(): ReadonlyMap<string, string> {
    const rows = this.#rows(
      `SELECT session, max(id) AS id FROM turns WHERE state = 'done' AND outcome = 'answered'
         AND EXISTS (SELECT 1 FROM inbound WHERE turn_id = turns.id AND payload IS NOT NULL) GROUP BY session`,
    );
    return new Map(rows.map((row) => [row.text('session'), row.text('id')]));
  }

  /** What the home's own files were like; empty before the first start of a program that notes it. */
  homeFiles(): ReadonlyMap<string, HomeFileRecord> {
    return this.#hasTable('home_files') ? homeFilesOf(this.#rows(HOME_FILES)) : new Map();
  }

  /** What the servers of models have refused, oldest first; empty before the first start of a program that notes it. */
  modelFacts(): readonly ModelFact[] {
    return this.#hasTable('model_facts') ? this.#rows(MODEL_FACTS).map(modelFactOf) : [];
  }

  /** Replies of the last week that did not arrive, and those that wait. */
  outbox(now: number): { readonly lost: Waiting; readonly waiting: Waiting } {
    const count = (where: string): Waiting =>
      this.#waiting(
        'outbound',
        'created_at',
        `state NOT IN ('delivered', 'streaming') AND payload IS NOT NULL AND ${where}`,
      );
    return {
      // A message that the owner dropped is not a fault.
      lost: count(
        `state IN ('dead', 'expired', 'uncertain') AND updated_at > ${now - 7 * DAY_MS} AND coalesce(reason, '') <> 'dropped by the owner'`,
      ),
      waiting: count("state IN ('pending', 'sending')"),
    };
  }

  /** Messages of the last week that were given up, and those that wait for a turn. */
  inbox(now: number): { readonly lost: Waiting; readonly waiting: Waiting } {
    const count = (where: string): Waiting =>
      this.#waiting('inbound', 'received_at', `state <> 'done' AND payload IS NOT NULL AND ${where}`);
    return {
      lost: count(`state = 'dead' AND updated_at > ${now - 7 * DAY_MS}`),
      waiting: count("state = 'accepted'"),
    };
  }

  /** What model calls used since a time, ms since 1970; `sources`: only those. */
  spentSince(at: number, sources?: readonly string[]): SpentTokens {
    const which = sources === undefined ? '' : ` AND source IN (${sources.map(() => '?').join(', ')})`;
    const [row] = this.#rows(
      `SELECT coalesce(sum(input + output), 0) AS tokens, coalesce(sum(cost_usd), 0.0) AS cost FROM usage WHERE at >= ?${which}`,
      at,
      ...(sources ?? []),
    );
    return { tokens: row?.number('tokens') ?? 0, costUsd: row?.number('cost') ?? 0 };
  }

  /** The newest model calls, newest first. */
  calls(count: number): readonly RecordedCall[] {
    return this.#rows(
      `SELECT source, input, cached, cache_write, output, cost_usd FROM usage WHERE span = 'call' ORDER BY at DESC LIMIT ?`,
      count,
    ).map((row) => ({
      source: row.text('source'),
      usage: {
        ...noUsage,
        input: row.number('input'),
        cached: row.number('cached'),
        cacheWrite: row.number('cache_write'),
        output: row.number('output'),
      },
      costUsd: row.numberOrNull('cost_usd'),
    }));
  }

  /** The rows of a statement of an extension, which names its own tables and the views `core_…`; none where it never ran here. */
  rows(sql: string, ...values: readonly (string | number)[]): readonly Row[] {
    try {
      return this.#rows(sql, ...values);
    } catch (error) {
      if (/no such table/u.test(errorMessage(error))) return [];
      throw error;
    }
  }

  /** Channels on which an owner wrote in a direct chat. */
  ownersChats(): readonly string[] {
    return this.#rows('SELECT DISTINCT channel FROM owner_chats WHERE direct = 1').map((row) => row.text('channel'));
  }

  [Symbol.dispose](): void {
    this.#db.close();
  }

  #waiting(table: string, since: string, where: string): Waiting {
    const [row] = this.#rows(
      `SELECT count(*) AS count, coalesce(min(${since}), 0) AS oldest FROM ${table} WHERE ${where}`,
    );
    return { count: row?.number('count') ?? 0, oldest: row?.number('oldest') ?? 0 };
  }

  #hasTable(name: string): boolean {
    return this.#rows('SELECT 1 AS one FROM sqlite_schema WHERE name = ?', name).length > 0;
  }

  #rows(sql: string, ...values: readonly (string | number)[]): readonly Row[] {
    return this.#db
      .prepare(sql)
      .all(...values)
      .map((columns) => new Row(columns));
  }
}
