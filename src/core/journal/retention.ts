import { PASSED_OVER_KEPT_MS } from './channel-log.ts';
import type { Database } from '../storage/database.ts';
import { dedupeKey, type JournalDatabase, type Swept } from './rows.ts';
import { EPHEMERAL_SQL } from '../util/ephemeral-session.ts';
import { foldUsage } from './retention-usage.ts';
import type { Aged, NamedTables, Sweep } from './tables.ts';

export type { Sweep };

const DAY_MS = 86_400_000;

const INBOUND_ENDED = "state IN ('done', 'refused', 'dead')";
const OUTBOUND_ENDED = "state IN ('delivered', 'dead', 'expired')";
const QUESTION_ENDED = "state <> 'waiting'";

/**
 * How long each kind of row is kept, and the index by age that finds old rows (named, because SQLite could choose a worse
 * one). Rules that delete rows come before rules that only empty them.
 */
const AGED: readonly Aged[] = [
  {
    store: 'replies',
    table: 'outbound',
    index: 'outbound_age',
    key: 'seq',
    at: 'updated_at',
    ended: `${OUTBOUND_ENDED} AND owed = 0`,
    keptMs: 90 * DAY_MS,
  },
  {
    store: 'texts of messages',
    table: 'inbound',
    index: 'inbound_ephemeral_age',
    key: 'seq',
    at: 'updated_at',
    ended: `payload IS NOT NULL AND ${INBOUND_ENDED} AND ${EPHEMERAL_SQL}`,
    keptMs: DAY_MS,
    set: 'payload = NULL',
  },
  {
    store: 'texts of messages',
    table: 'inbound',
    index: 'inbound_payload_age',
    key: 'seq',
    at: 'updated_at',
    ended: `payload IS NOT NULL AND ${INBOUND_ENDED}`,
    keptMs: 30 * DAY_MS,
    set: 'payload = NULL',
  },
  {
    store: 'texts of replies',
    table: 'outbound',
    index: 'outbound_payload_age',
    key: 'seq',
    at: 'updated_at',
    ended: `payload IS NOT NULL AND ${OUTBOUND_ENDED} AND owed = 0`,
    keptMs: 30 * DAY_MS,
    set: 'payload = NULL',
  },
  {
    store: 'turns',
    table: 'turns',
    index: 'turns_age',
    key: 'id',
    at: 'updated_at',
    ended: "state IN ('done', 'dead')",
    keptMs: 90 * DAY_MS,
  },
  ...['approvals', 'questions', 'asks'].map((table) => ({
    store: 'questions',
    table,
    index: `${table}_age`,
    key: 'call_id',
    at: 'updated_at',
    ended: QUESTION_ENDED,
    keptMs: 90 * DAY_MS,
  })),
  {
    store: 'archived conversations',
    table: 'archives',
    index: 'archives_age',
    key: 'id',
    at: 'updated_at',
    ended: "state IN ('done', 'dropped')",
    keptMs: 90 * DAY_MS,
  },
  {
    store: 'messages not taken',
    table: 'passed_over',
    index: 'passed_over_age',
    key: 'key',
    at: 'at',
    keptMs: PASSED_OVER_KEPT_MS,
  },
  {
    store: 'states of channels',
    table: 'channel_states',
    index: 'channel_states_age',
    key: 'at',
    at: 'at',
    keptMs: 90 * DAY_MS,
  },
  ...['reactions', 'shown_reactions'].map((table) => ({
    store: 'reactions',
    table,
    index: `${table}_age`,
    key: table === 'reactions' ? 'seq' : 'inbound',
    at: 'at',
    keptMs: 90 * DAY_MS,
  })),
  { store: 'keys of messages', table: 'dedupe', index: 'dedupe_age', key: 'key', at: 'at', keptMs: 400 * DAY_MS },
];

const MESSAGES_KEPT_MS = 90 * DAY_MS;
/** Free pages that the file keeps for what is written next, 4 KiB each. */
const FREE_PAGES = 256;
/** One statement gives back this many pages, and after this time no further statement begins. */
const SHRINK_PAGES = 4;
const SHRINK_MS = 1;

/** The result of a whole sweep, stored for `status`. */
export interface SweepReport {
  /** When it ended, milliseconds since 1970. */
  readonly at: number;
  /** Deleted rows and files, by store. */
  readonly removed: Readonly<Record<string, number>>;
  /** Bytes on the disk, by store. */
  readonly bytes: Readonly<Record<string, number>>;
}

/** Deletes old rows of the journal, in slices. Rows of unfinished work are never deleted. */
export class Retention {
  readonly #journal: JournalDatabase;
  readonly #tables: readonly NamedTables[];

  constructor(journal: JournalDatabase, tables: readonly NamedTables[]) {
    this.#journal = journal;
    this.#tables = tables;
  }

  /** The sweeps that can run now, in the order in which they should. */
  sweeps(): readonly Sweep[] {
    const { db, clock } = this.#journal;
    const now = clock.now();
    return [
      ...this.#tables.flatMap(
        ({ sweeps }) => sweeps?.({ db, clock, removeAnswered: (of) => removeAnswered(db, of) }, now) ?? [],
      ),
      { store: 'messages', slice: (limit) => this.#messages(now - MESSAGES_KEPT_MS, limit) },
      ...[...AGED, ...this.#tables.flatMap(({ aged = [] }) => aged)].map((aged): Sweep => ({
        store: aged.store,
        slice: (limit) => this.#age(aged, now, limit),
      })),
      { store: 'model calls', slice: (limit) => foldUsage(this.#journal, now, limit) },
      { store: null, slice: (limit) => this.#shrink(limit) },
    ];
  }

  /** Runs one slice in a transaction. `blockedMs`: how long it blocked the event loop. */
  async slice(sweep: Sweep, limit: number): Promise<Swept & { readonly blockedMs: number }> {
    let began = 0;
    const swept = await this.#journal.db.write(() => {
      began = performance.now();
      return sweep.slice(limit);
    }, 'lazy');
    return { ...swept, blockedMs: performance.now() - began };
  }

  /** The report of the last sweep; undefined: there was none. */
  last(): SweepReport | undefined {
    const row = this.#journal.db.get('SELECT report FROM swept');
    return row === undefined ? undefined : (JSON.parse(row.text('report')) as SweepReport);
  }

  remember(report: SweepReport): Promise<void> {
    const { db } = this.#journal;
    return db.write(
      () => void db.run('INSERT OR REPLACE INTO swept (id, report) VALUES (1, ?)', JSON.stringify(report)),
      'lazy',
    );
  }

  #age({ table, index, key, at, ended = '1 = 1', keptMs, set }: Aged, now: number, limit: number): Swept {
    const by = index === undefined ? '' : `INDEXED BY ${index} `;
    const due = `SELECT ${key} FROM ${table} ${by}WHERE ${ended} AND ${at} < ? ORDER BY ${at} LIMIT ?`;
    const what = set === undefined ? `DELETE FROM ${table}` : `UPDATE ${table} SET ${set}`;
    const { db } = this.#journal;
    // The text of a reply is in its parts, too.
    if (set !== undefined && table === 'outbound') {
      db.run(
        `UPDATE parts SET text = '' WHERE outbound_id IN (SELECT id FROM outbound WHERE seq IN (${due}))`,
        now - keptMs,
        limit,
      );
    }
    const rows = db.run(`${what} WHERE ${key} IN (${due})`, now - keptMs, limit);
    return { rows, more: rows === limit };
  }

  /** Deletes messages but keeps their keys, so that a message that the platform sends again is still a duplicate. */
  #messages(before: number, limit: number): Swept {
    const { origins, db, clock } = this.#journal;
    const rows = db.all(
      `SELECT seq, channel, account, chat, external_id, origin FROM inbound INDEXED BY inbound_age
       WHERE ${INBOUND_ENDED} AND updated_at < ? ORDER BY updated_at LIMIT ?`,
      before,
      limit,
    );
    for (const row of rows) {
      // Messages of jobs need no key: the job's `settled` time prevents a repetition.
      if (origins.of(row.text('origin')).hasJobs !== true) {
        const key = dedupeKey(row.text('channel'), row.text('account'), row.text('chat'), row.text('external_id'));
        db.run('INSERT OR IGNORE INTO dedupe (key, at) VALUES (?, ?)', key, clock.now() - MESSAGES_KEPT_MS);
      }
      db.run('DELETE FROM inbound WHERE seq = ?', row.number('seq'));
    }
    return { rows: rows.length, more: rows.length === limit };
  }

  /**
   * Gives free pages at the end of the file back to the disk. Does nothing in a file without incremental auto-vacuum. How
   * long one page takes differs a lot, so the limit is a time.
   */
  #shrink(limit: number): Swept {
    const { db } = this.#journal;
    const vacuum = db.get('PRAGMA auto_vacuum')?.number('auto_vacuum');
    const free = db.get('PRAGMA freelist_count')?.number('freelist_count') ?? 0;
    const pages = vacuum === 2 ? Math.max(0, free - FREE_PAGES) : 0;
    const until = performance.now() + SHRINK_MS;
    let given = 0;
    while (given < Math.min(pages, limit) && performance.now() < until) {
      db.all(`PRAGMA incremental_vacuum(${SHRINK_PAGES})`);
      given += SHRINK_PAGES;
    }
    return { rows: given, more: given < pages };
  }
}

const SAID = "state IN ('delivered', 'dead', 'expired')";

/** As `SweptJournal.removeAnswered`. */
function removeAnswered(
  db: Database,
  { inboundId, outboundId }: { readonly inboundId: string | null; readonly outboundId: string | null },
): boolean {
  if (inboundId !== null && !removeTurnOf({ db }, inboundId)) return false;
  if (outboundId !== null) db.run(`DELETE FROM outbound WHERE id = ? AND ${SAID}`, outboundId);
  return true;
}

/** Deletes the message, turn and replies of it. False: it has not ended, nothing is deleted. */
function removeTurnOf({ db }: { readonly db: Database }, inboundId: string): boolean {
  const message = db.get('SELECT state, turn_id FROM inbound WHERE id = ?', inboundId);
  if (message === undefined) return true;
  const state = message.text('state');
  if (state === 'accepted' || state === 'running') return false;
  const turnId = message.textOrNull('turn_id');
  db.run('DELETE FROM inbound WHERE id = ?', inboundId);
  if (turnId === null || db.get('SELECT 1 FROM inbound WHERE turn_id = ? LIMIT 1', turnId) !== undefined) return true;
  db.run("DELETE FROM turns WHERE id = ? AND state IN ('done', 'dead')", turnId);
  db.run(`DELETE FROM outbound WHERE turn_id = ? AND ${SAID}`, turnId);
  return true;
}
