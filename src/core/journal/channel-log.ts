import { dedupeKey, JournalStore } from './rows.ts';

/** A message that a channel saw and did not take. */
export interface PassedOver {
  readonly account: string;
  readonly chatId: string;
  readonly externalId: string;
  /** Why, as the end of a sentence; without the words of the message and without ids of people. */
  readonly reason: string;
}

/** A channel as it was at some time. */
export interface ChannelThen {
  /** As of `ChannelHealth`; `lost`: the process ended without warning at or after `since`. */
  readonly state: string;
  readonly detail: string | null;
  /** Milliseconds since 1970. */
  readonly since: number;
}

/** Records of messages that were not taken are kept so long. */
export const PASSED_OVER_KEPT_MS = 7 * 86_400_000;

/** Most of these records, and after how many new ones older ones are dropped. */
const MOST_PASSED_OVER = 50_000;
const PASSED_OVER_LOOK = 1_000;
const DROP_PASSED_OVER = `DELETE FROM passed_over WHERE at <= (SELECT at FROM passed_over ORDER BY at DESC LIMIT 1 OFFSET ?)`;

/** Most states of one channel. */
const MOST_STATES = 1_000;
const DROP_STATES = `DELETE FROM channel_states WHERE channel = ?1 AND at <=
  (SELECT at FROM channel_states WHERE channel = ?1 ORDER BY at DESC LIMIT 1 OFFSET ?2)`;
/** A state that lasts is written again after this time, so that retention leaves a row of it. */
const AGAIN_MS = 86_400_000;
/** When something was last written that shows that the process lived. Both statements read an index. */
const LAST_SIGN = `SELECT max(at) AS at FROM (
  SELECT max(updated_at) AS at FROM inbound WHERE state IN ('done', 'refused', 'dead') UNION ALL
  SELECT max(updated_at) AS at FROM outbound WHERE state IN ('delivered', 'dead', 'expired'))`;

/** Which messages the channels did not take, and when they did not run, for people who ask why there was no answer. */
export class ChannelLog extends JournalStore {
  #passed = 0;

  /** Records that a message was not taken; only a hash of its ids is kept. */
  passOver(channel: string, { account, chatId, externalId, reason }: PassedOver): Promise<void> {
    const { db, clock } = this.journal;
    const key = dedupeKey(channel, account, chatId, externalId);
    const sql = 'INSERT OR IGNORE INTO passed_over (key, reason, at) VALUES (?, ?, ?)';
    this.#passed += 1;
    const isFull = this.#passed % PASSED_OVER_LOOK === 0;
    return db.write(() => {
      db.run(sql, key, reason, clock.now());
      if (isFull) db.run(DROP_PASSED_OVER, MOST_PASSED_OVER);
    }, 'lazy');
  }

  /** Why a message was not taken; undefined: it is not recorded that it was not. */
  passedOver(message: {
    readonly channel: string;
    readonly account: string;
    readonly chatId: string;
    readonly externalId: string;
  }): string | undefined {
    const key = dedupeKey(message.channel, message.account, message.chatId, message.externalId);
    return this.journal.db.get('SELECT reason FROM passed_over WHERE key = ?', key)?.text('reason');
  }

  /** Records the present state of a channel, if it is another one than before. */
  async note(channel: string, { state, detail }: { readonly state: string; readonly detail?: string }): Promise<void> {
    const { db, clock } = this.journal;
    const now = clock.now();
    const before = this.at(channel, now);
    const isKnown = before?.state === state && before.detail === (detail ?? null) && now - before.since < AGAIN_MS;
    // Asked every few seconds while it changes seldom: no transaction begins for what is known.
    if (!isKnown) await db.write(() => this.#insert(channel, now, state, detail), 'lazy');
  }

  /** Call it at the start: channels whose last state is not that they were stopped belong to a process that died. */
  begin(): Promise<void> {
    const { db } = this.journal;
    return db.write(() => {
      const lastSign = db.get(LAST_SIGN)?.numberOrNull('at') ?? 0;
      for (const row of db.all('SELECT channel, max(at) AS at FROM channel_states GROUP BY channel')) {
        const [channel, at] = [row.text('channel'), row.number('at')];
        const state = this.at(channel, at)?.state;
        if (state !== 'stopped' && state !== 'lost') this.#insert(channel, Math.max(at + 1, lastSign), 'lost');
      }
    }, 'lazy');
  }

  /** The state of a channel at a time, ms since 1970; undefined: not known. */
  at(channel: string, time: number): ChannelThen | undefined {
    const sql = `SELECT state, detail, at FROM channel_states WHERE channel = ? AND at <= ? ORDER BY at DESC LIMIT 1`;
    const row = this.journal.db.get(sql, channel, time);
    return row && { state: row.text('state'), detail: row.textOrNull('detail'), since: row.number('at') };
  }

  #insert(channel: string, at: number, state: string, detail?: string): void {
    const sql = 'INSERT OR REPLACE INTO channel_states (channel, at, state, detail) VALUES (?, ?, ?, ?)';
    this.journal.db.run(sql, channel, at, state, detail ?? null);
    this.journal.db.run(DROP_STATES, channel, MOST_STATES);
  }
}
