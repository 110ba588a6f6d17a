import { createHash } from 'node:crypto';
import type { Queued } from '../bus/bus.ts';
import type { Media, OutboundMessage } from '../bus/messages.ts';
import type { Row } from '../storage/database.ts';
import type { Durability } from '../storage/files.ts';
import { takeRendered } from './previews.ts';
import { OPEN_OUTBOUND as OPEN, OUTBOUND, parseOutbound, type JournalDatabase } from './rows.ts';
import { SET_OWED, Undelivered, type DeliveryFailure } from './undelivered.ts';

export type PartState = 'pending' | 'sending' | 'delivered' | 'uncertain' | 'dead';

/** One platform message of an outbound message, rendered. */
export interface OutboxPart {
  readonly n: number;
  readonly text: string;
  readonly state: PartState;
  /** Id of the platform's message. Before delivery: of the preview that this part replaces. Null: none. */
  readonly platformId: string | null;
  /** 22 characters, the same at each attempt. */
  readonly nonce: string;
  /** How many times it was sent again although the platform may have had it. */
  readonly resends: number;
}

export interface OutboundState {
  readonly message: OutboundMessage;
  readonly state: string;
  readonly attempts: number;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** Not before this time, ms since 1970. */
  readonly nextAt: number;
  /**
   * Set when a power loss may have undone the mark that a part was sent. `oldest`: it was the oldest waiting message of its
   * chat and urgency, so its first part may have been sent. `later`: it was behind that one, so it may have been sent only on
   * a channel whose marks are not made durable one by one. Null: no doubt.
   */
  readonly doubt: 'oldest' | 'later' | null;
  /** Empty until the message is rendered. */
  readonly parts: readonly OutboxPart[];
}

/** A new outbound message, with its rendered parts; these are empty when its channel is not running yet. */
export interface OutboundDraft {
  readonly message: OutboundMessage;
  readonly parts: readonly string[];
}

/** The outbound messages (tables `outbound` and `parts`). Each part is marked before and after it is sent. */
export class Outbox {
  readonly #journal: JournalDatabase;
  readonly #undelivered: Undelivered;

  constructor(journal: JournalDatabase) {
    this.#journal = journal;
    this.#undelivered = new Undelivered(journal);
  }

  /** Writes messages in one transaction; one whose id exists already is left as it is. */
  enqueue(messages: readonly OutboundMessage[]): Promise<void> {
    return this.#journal.db.write(() => {
      for (const message of messages) this.insert({ message, parts: [] });
    });
  }

  /**
   * Inserts a message within the caller's transaction. False: a row with its id exists and stays as it is. In front of an
   * answer it also inserts a notice about messages of this chat that did not arrive.
   */
  insert(draft: OutboundDraft): boolean {
    const notice = this.#undelivered.before(draft.message);
    if (notice !== undefined) this.#insert({ message: notice, parts: [] });
    return this.#insert(draft);
  }

  #insert({ message, parts }: OutboundDraft): boolean {
    const { db, clock } = this.#journal;
    const now = clock.now();
    const seq = db.insert(
      `INSERT OR IGNORE INTO outbound
         (id, turn_id, channel, chat, kind, payload, state, expires_at, created_at, updated_at)
       VALUES (?, ?, ?, ?, ?, ?, 'pending', ?, ?, ?)`,
      message.id,
      message.turnId ?? null,
      message.channel,
      message.chatId,
      message.kind,
      JSON.stringify(message),
      message.expiresAt ?? null,
      now,
      now,
    );
    if (seq === null) return false;
    this.#insertParts(message.id, parts);
    db.queued(OUTBOUND, seq);
    return true;
  }

  /** Messages that wait to be sent, oldest first, with `seq` above `after`. */
  page(after: number, limit: number): readonly Queued<OutboundMessage>[] {
    const { db } = this.#journal;
    return db
      .all(
        `SELECT seq, payload FROM outbound WHERE ${OPEN} AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?`,
        after,
        db.durableUpTo(OUTBOUND),
        limit,
      )
      .map((row) => ({ seq: row.number('seq'), message: parseOutbound(row.text('payload')) }));
  }

  /** Calls back when `page` may have more. */
  onQueued(listener: () => void): Disposable {
    return this.#journal.db.onQueued(OUTBOUND, listener);
  }

  /** The state of a message that is not finished; undefined when there is none with this id or it is finished. */
  open(id: string): OutboundState | undefined {
    const { db } = this.#journal;
    const row = db.get(
      `SELECT payload, state, attempts, next_at, created_at, doubt FROM outbound WHERE id = ? AND ${OPEN}`,
      id,
    );
    if (row === undefined) return undefined;
    const parts = db.all('SELECT * FROM parts WHERE outbound_id = ? ORDER BY n', id).map(toPart);
    return {
      message: parseOutbound(row.text('payload')),
      state: row.text('state'),
      attempts: row.number('attempts'),
      createdAt: row.number('created_at'),
      nextAt: row.number('next_at'),
      doubt: toDoubt(row.textOrNull('doubt')),
      parts,
    };
  }

  /** The files that a turn sent or queued, in order. */
  filesOf(turnId: string): readonly Media[] {
    return this.#journal.db
      .all('SELECT payload FROM outbound WHERE turn_id = ? AND payload IS NOT NULL ORDER BY seq', turnId)
      .flatMap((row) => parseOutbound(row.text('payload')).media);
  }

  /** The state of a message, finished or not; undefined when there is none with this id. */
  stateOf(id: string): string | undefined {
    return this.#journal.db.get('SELECT state FROM outbound WHERE id = ?', id)?.text('state');
  }

  /** A message and its last part, if the platform has that part; else undefined. */
  lastSent(
    id: string,
  ): { readonly message: OutboundMessage; readonly part: OutboxPart & { readonly platformId: string } } | undefined {
    const { db } = this.#journal;
    const row = db.get('SELECT payload FROM outbound WHERE id = ? AND payload IS NOT NULL', id);
    const [part] = db.all('SELECT * FROM parts WHERE outbound_id = ? ORDER BY n DESC LIMIT 1', id).map(toPart);
    if (row === undefined || part === undefined || part.platformId === null) return undefined;
    return { message: parseOutbound(row.text('payload')), part: { ...part, platformId: part.platformId } };
  }

  /** Whether a platform id belongs to a delivered part, or to a preview, in this chat. */
  isSent({ channel, chatId }: Pick<OutboundMessage, 'channel' | 'chatId'>, platformId: string): boolean {
    const found = this.#journal.db.get(
      `SELECT 1 AS one FROM parts CROSS JOIN outbound ON outbound.id = parts.outbound_id
       WHERE parts.platform_id = ? AND outbound.channel = ? AND outbound.chat = ? LIMIT 1`,
      platformId,
      channel,
      chatId,
    );
    return found !== undefined;
  }

  /**
   * Stores the rendered parts before the first is sent; parts that exist stay as they are. The first part replaces the
   * preview of the answer, if there is one.
   */
  render(id: string, texts: readonly string[]): Promise<void> {
    const { db } = this.#journal;
    return db.write(() => {
      this.#insertParts(id, texts);
      takeRendered(this.#journal, id);
    }, 'lazy');
  }

  /** Resolves when all marks so far are durable. */
  settled(): Promise<void> {
    return this.#journal.db.settled();
  }

  /**
   * Marks a part as being sent. `resend`: the platform may have it already. `keepsDoubt`: do not clear `doubt`, because a
   * later part is in doubt too. False: the message was finished meanwhile, do not send it.
   */
  sending(
    id: string,
    n: number,
    { resend, keepsDoubt = false, durability }: { resend: boolean; keepsDoubt?: boolean; durability?: Durability },
  ): Promise<boolean> {
    const { db } = this.#journal;
    return db.write(() => {
      const open = this.#touch(
        id,
        `state = 'sending', attempts = attempts + 1${keepsDoubt ? '' : ', doubt = NULL'}`,
        OPEN,
      );
      if (!open) return false;
      db.run(
        "UPDATE parts SET state = 'sending', resends = resends + ? WHERE outbound_id = ? AND n = ?",
        resend ? 1 : 0,
        id,
        n,
      );
      return true;
    }, durability);
  }

  /** Marks a part as delivered; with the last one the message is delivered. Not durable at once: see `OutboundState.doubt`. */
  delivered(id: string, n: number, platformId: string): Promise<void> {
    const { db } = this.#journal;
    return db.write(() => {
      db.run(
        "UPDATE parts SET state = 'delivered', platform_id = ? WHERE outbound_id = ? AND n = ?",
        platformId,
        id,
        n,
      );
      const rest = db.get("SELECT 1 AS one FROM parts WHERE outbound_id = ? AND state <> 'delivered' LIMIT 1", id);
      if (rest === undefined) this.#touch(id, "state = 'delivered', reason = NULL");
    }, 'lazy');
  }

  /** Forgets the preview that a part should replace, because it is gone: the part is then sent as a new message. */
  forgetPlace(id: string, n: number): Promise<void> {
    const { db } = this.#journal;
    return db.write(() => {
      db.run("UPDATE parts SET platform_id = NULL, state = 'pending' WHERE outbound_id = ? AND n = ?", id, n);
    });
  }

  /** Marks a part as not sent (`pending`) or possibly sent (`uncertain`), to be tried again not before `nextAt` (ms since 1970). */
  postpone(id: string, n: number, state: 'pending' | 'uncertain', nextAt: number, reason: string): Promise<void> {
    const { db } = this.#journal;
    return db.write(() => {
      db.run('UPDATE parts SET state = ? WHERE outbound_id = ? AND n = ?', state, id, n);
      this.#touch(id, 'state = ?, next_at = ?, reason = ?', OPEN, state, nextAt, reason);
    });
  }

  /** Lets the messages that wait for this chat be tried at once. */
  retryNow(channel: string, chatId: string): Promise<void> {
    const { db } = this.#journal;
    return db.write(() => {
      db.run(
        `UPDATE outbound SET next_at = 0 WHERE channel = ? AND chat = ? AND next_at > 0 AND ${OPEN}`,
        channel,
        chatId,
      );
    });
  }

  /** Ends all messages that wait for this chat; later ones are tried again. Returns how many it ended. */
  endChat(channel: string, chatId: string, ending: DeliveryFailure): Promise<number> {
    const { db, clock } = this.#journal;
    return db.write(() => {
      this.#undelivered.refused(ending);
      const open = db.all(`SELECT id FROM outbound WHERE channel = ? AND chat = ? AND ${OPEN}`, channel, chatId);
      for (const row of open) this.#undelivered.ended(row.text('id'));
      return db.run(
        `UPDATE outbound SET state = 'dead', ${SET_OWED}, reason = ?, updated_at = ?
         WHERE channel = ? AND chat = ? AND ${OPEN}`,
        ending.reason,
        clock.now(),
        channel,
        chatId,
      );
    });
  }

  /** Ends a message with a reason. If it did not arrive, a person will be told, see `Undelivered`. */
  finish(id: string, state: 'dead' | 'expired' | 'delivered', ending: DeliveryFailure): Promise<void> {
    return this.#journal.db.write(() => {
      this.#undelivered.refused(ending);
      for (const message of ending.instead ?? []) this.#insert({ message, parts: [] });
      const owed = state === 'delivered' ? '' : `${SET_OWED}, `;
      const ended = this.#touch(id, `${owed}state = ?, reason = ?`, OPEN, state, ending.reason);
      if (ended && state !== 'delivered') this.#undelivered.ended(id);
    });
  }

  /** Queues notices to owners, in other chats on these channels, about messages that did not arrive. Returns how many. */
  async tellElsewhere(running: readonly string[]): Promise<number> {
    if (!this.#undelivered.hasUnreported) return 0;
    return this.#journal.db.write(() => {
      const notices = this.#undelivered.elsewhere(running);
      for (const message of notices) this.#insert({ message, parts: [] });
      return notices.length;
    });
  }

  /** Cancels, within the caller's transaction, the answers of a session that wait to be sent. Returns how many. */
  cancelUnsent(session: string, reason: string): number {
    return this.#journal.db.run(
      `UPDATE outbound SET state = 'expired', reason = ?, updated_at = ?
       WHERE ${OPEN} AND state = 'pending' AND kind IN ('answer', 'part')
         AND EXISTS (SELECT 1 FROM turns WHERE turns.id = outbound.turn_id AND turns.session = ?)`,
      reason,
      this.#journal.clock.now(),
      session,
    );
  }

  counts(): Readonly<Record<string, number>> {
    const rows = this.#journal.db.all(`SELECT state, count(*) AS n FROM outbound WHERE ${OPEN} GROUP BY state`);
    return Object.fromEntries(rows.map((row) => [row.text('state'), row.number('n')]));
  }

  #insertParts(id: string, texts: readonly string[]): void {
    for (const [n, text] of texts.entries()) {
      this.#journal.db.run(
        "INSERT OR IGNORE INTO parts (outbound_id, n, text, state, nonce) VALUES (?, ?, ?, 'pending', ?)",
        id,
        n,
        text,
        createHash('sha256').update(`${id}:${n}`).digest().subarray(0, 16).toString('base64url'),
      );
    }
  }

  #touch(id: string, set: string, where = '1 = 1', ...values: (string | number)[]): boolean {
    const { db, clock } = this.#journal;
    return (
      db.run(`UPDATE outbound SET ${set}, updated_at = ? WHERE id = ? AND ${where}`, ...values, clock.now(), id) > 0
    );
  }
}

function toDoubt(value: string | null): OutboundState['doubt'] {
  return value === 'oldest' || value === 'later' ? value : null;
}

function toPart(row: Row): OutboxPart {
  return {
    n: row.number('n'),
    text: row.text('text'),
    state: row.text('state') as PartState,
    platformId: row.textOrNull('platform_id'),
    nonce: row.text('nonce'),
    resends: row.number('resends'),
  };
}
