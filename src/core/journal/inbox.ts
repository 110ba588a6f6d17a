import type { Queued } from '../bus/bus.ts';
import type { AcceptResult, Cursor, InboundMessage } from '../bus/messages.ts';
import { takeAnswer, type AnswerTaken, type Interpreter } from './answers.ts';
import { moveCursors } from './cursors.ts';
import { dedupeKey, INBOUND, parseInbound, placeholders, type JournalDatabase } from './rows.ts';
import type { Outbox } from './outbox.ts';
import { wellFormed } from '../util/well-formed.ts';
import { endWork, isStopRequest, stopSession, type Stopped } from './stop.ts';

/** At most this many messages wait in one chat; more are refused with one notice. */
const CHAT_CAP = 50;
/** Additional places for commands in a full chat, so that a person can still send /status or /new. */
const COMMANDS_MORE = 10;
/** At most this many messages wait in one channel. */
const CHANNEL_CAP = 20_000;
/** A chat gets at most one notice in this time that messages were refused. */
const NOTICE_EVERY_MS = 600_000;

/** The inbound messages (table `inbound`), each once. An accepted message is on disk. */
export class Inbox {
  readonly #journal: JournalDatabase;
  readonly #outbox: Outbox;
  readonly #interpret: Interpreter;
  readonly #stopListeners = new Set<(stopped: Stopped) => void>();
  readonly #answerListeners = new Set<(taken: AnswerTaken) => void>();
  readonly #committedListeners = new Set<(message: InboundMessage) => void>();
  #background: (session: string) => number = () => 0;
  #arrivals = 0;

  constructor(journal: JournalDatabase, outbox: Outbox, interpret: Interpreter) {
    this.#journal = journal;
    this.#outbox = outbox;
    this.#interpret = interpret;
    this.onQueued(() => {
      this.#arrivals += 1;
    });
  }

  /** Adds a listener that is called with what a /stop ended, after its commit. */
  onStop(listener: (stopped: Stopped) => void): void {
    this.#stopListeners.add(listener);
  }

  /** Adds a listener that is called after the commit of a message that answered a question, or tried to. */
  onAnswer(listener: (taken: AnswerTaken) => void): void {
    this.#answerListeners.add(listener);
  }

  /** Adds a listener that is called with each message when it is accepted and not durable yet. It must not throw. */
  onCommitted(listener: (message: InboundMessage) => void): void {
    this.#committedListeners.add(listener);
  }

  /** Writes messages and read cursors in one transaction; resolves after the commit with one result for each message. */
  async accept(messages: readonly InboundMessage[], cursors: readonly Cursor[] = []): Promise<readonly AcceptResult[]> {
    const stops: Stopped[] = [];
    const answers: AnswerTaken[] = [];
    const work = (): AcceptResult[] => {
      const waiting = new Map<string, number>();
      moveCursors(this.#journal, cursors);
      return messages.map((message) => this.#acceptOne(message, waiting, { stops, answers }));
    };
    const results = await this.#journal.db.write(work, 'durable', (all) => {
      const accepted = messages.filter((_, n) => all[n] === 'accepted');
      for (const message of accepted) for (const listener of this.#committedListeners) listener(message);
    });
    for (const stopped of stops) for (const listener of this.#stopListeners) listener(stopped);
    for (const taken of answers) for (const listener of this.#answerListeners) listener(taken);
    return results;
  }

  /** Inserts a message that the program wrote, within the caller's transaction; no cap applies. False: it was inserted before. */
  enqueueInternal(message: InboundMessage): boolean {
    return this.#insert(wellFormed(message), 'accepted', null);
  }

  /** As `endWork` of the journal, within the caller's transaction. */
  endWork(ids: readonly string[], by: Parameters<typeof endWork>[2]): readonly string[] {
    return endWork(this.#journal, ids, by);
  }

  /** As `enqueueInternal`, in a transaction of its own. */
  acceptOwn(message: InboundMessage): Promise<boolean> {
    return this.#journal.db.write(() => this.enqueueInternal(message));
  }

  /** Withdraws a waiting message that the program wrote. False: a turn has taken it, or there is none. */
  withdrawInternal(message: Pick<InboundMessage, 'channel' | 'account' | 'chatId' | 'externalId'>): Promise<boolean> {
    const { db, clock } = this.#journal;
    const { channel, account, chatId, externalId } = message;
    return db.write(() => {
      const changed = db.run(
        `UPDATE inbound SET state = 'done', reason = 'withdrawn', updated_at = ?
         WHERE channel = ? AND account = ? AND chat = ? AND external_id = ? AND state = 'accepted' AND origin <> 'user'`,
        clock.now(),
        channel,
        account,
        chatId,
        externalId,
      );
      return changed === 1;
    });
  }

  /** Records why a message is not worked on, as a sentence. */
  refusedBecause(id: string, reason: string): Promise<unknown> {
    const { db } = this.#journal;
    return db.write(() => db.run('UPDATE inbound SET reason = ? WHERE id = ?', reason, id), 'lazy');
  }

  /** Sets the function that counts the background processes of a session, which the reply to a /stop names. @default 0 */
  countsBackground(count: (session: string) => number): void {
    this.#background = count;
  }

  /** Accepted messages that no turn has taken yet, oldest first, with `seq` above `after`. */
  page(after: number, limit: number): readonly Queued<InboundMessage>[] {
    const { db } = this.#journal;
    return db
      .all(
        "SELECT seq, payload FROM inbound WHERE state = 'accepted' AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?",
        after,
        db.durableUpTo(INBOUND),
        limit,
      )
      .map((row) => ({ seq: row.number('seq'), message: parseInbound(row.text('payload')) }));
  }

  /** Whether a turn began with a person's message of this chat. */
  began(channel: string, turnId: string, chatId: string): boolean {
    const sql = "SELECT 1 FROM inbound WHERE turn_id = ? AND channel = ? AND chat = ? AND origin = 'user' LIMIT 1";
    return this.#journal.db.get(sql, turnId, channel, chatId) !== undefined;
  }

  /** Calls back when `page` may have more. */
  onQueued(listener: () => void): Disposable {
    return this.#journal.db.onQueued(INBOUND, listener);
  }

  /** The messages of a session that no turn has taken, oldest first, at most `limit`; with `committed` those too that are not durable. */
  waiting(session: string, limit: number, committed = false): readonly InboundMessage[] {
    const { db } = this.#journal;
    return db
      .all(
        "SELECT payload FROM inbound WHERE session = ? AND state = 'accepted' AND seq <= ? ORDER BY seq LIMIT ?",
        session,
        committed ? Number.MAX_SAFE_INTEGER : db.durableUpTo(INBOUND),
        limit,
      )
      .map((row) => parseInbound(row.text('payload')));
  }

  /** Resolves when all messages that were accepted so far are durable; rejects as `Database.untilDurable` does. */
  untilDurable(): Promise<void> {
    return this.#journal.db.untilDurable(INBOUND);
  }

  /** A counter that grows when a message becomes durable, so an unchanged value means that `waiting` returns nothing new. */
  get arrivals(): number {
    return this.#arrivals;
  }

  /** Sessions in which messages wait that no turn has taken. */
  waitingSessions(): readonly string[] {
    return this.#journal.db
      .all("SELECT DISTINCT session FROM inbound WHERE state = 'accepted'")
      .map((row) => row.text('session'));
  }

  /** The messages with these ids, in order of arrival. */
  byId(ids: readonly string[]): readonly InboundMessage[] {
    return this.#journal.db
      .all(
        `SELECT payload FROM inbound WHERE id IN (${placeholders(ids)}) AND payload IS NOT NULL ORDER BY seq`,
        ...ids,
      )
      .map((row) => parseInbound(row.text('payload')));
  }

  /** When a person's message last came in on a channel, ms since 1970; undefined: never. */
  heardUntil(channel: string): number | undefined {
    const row = this.#journal.db.get(
      "SELECT max(received_at) AS at FROM inbound WHERE channel = ? AND origin = 'user' HAVING at IS NOT NULL",
      channel,
    );
    return row?.number('at');
  }

  counts(): Readonly<Record<string, number>> {
    const rows = this.#journal.db.all(
      "SELECT state, count(*) AS n FROM inbound WHERE state IN ('accepted', 'running') GROUP BY state",
    );
    return Object.fromEntries(rows.map((row) => [row.text('state'), row.number('n')]));
  }

  #acceptOne(
    message: InboundMessage,
    waiting: Map<string, number>,
    { stops, answers }: { stops: Stopped[]; answers: AnswerTaken[] },
  ): AcceptResult {
    const full = this.#overCap(message, waiting);
    if (this.#isKnown(message)) return 'duplicate';
    // An edit of an older message is no answer to a question that was asked after it.
    const answer =
      message.edits === undefined
        ? takeAnswer(this.#journal, { outbox: this.#outbox, interpret: this.#interpret }, message)
        : null;
    const stop = answer === null && isStopRequest(message);
    const isEdit = !stop && answer === null && this.#replaceEdited(message);
    const state = stop || answer !== null || isEdit ? 'done' : full === null ? 'accepted' : 'refused';
    const reason = stop ? 'stop' : answer !== null ? 'answer' : isEdit ? 'edit' : full;
    if (!this.#insert(message, state, reason)) return 'duplicate';
    if (stop) {
      stops.push(stopSession(this.#journal, this.#outbox, message, this.#background(message.sessionKey)));
      return 'accepted';
    }
    if (answer !== null) {
      answers.push(answer);
      return 'accepted';
    }
    if (full === null || isEdit) return 'accepted';
    this.#noticeOnce(message);
    return 'refused';
  }

  /**
   * Applies a waiting edit to a message of this turn that no model has read yet. False: the edit no longer waits, or the
   * turn does not have the message.
   */
  correct(turnId: string, edit: InboundMessage): Promise<boolean> {
    const { db, clock } = this.#journal;
    return db.write(() => {
      if (db.get("SELECT 1 FROM inbound WHERE id = ? AND state = 'accepted'", edit.id) === undefined) return false;
      if (!this.#replaceEdited(edit, turnId)) return false;
      const done = "UPDATE inbound SET state = 'done', reason = 'edit', updated_at = ? WHERE id = ?";
      return db.run(done, clock.now(), edit.id) === 1;
    });
  }

  /** Applies an edit to its message, if that waits or `turnId` has it. False: it was not found, so the edit is a new message. */
  #replaceEdited({ edits, channel, account, chatId, sender }: InboundMessage, turnId: string | null = null): boolean {
    const { db, clock } = this.#journal;
    if (edits === undefined) return false;
    const row = db.get(
      `SELECT id, payload FROM inbound
       WHERE channel = ?1 AND account = ?2 AND chat = ?3 AND external_id = ?4
         AND (state = 'accepted' OR (state = 'running' AND turn_id = ?5))`,
      channel,
      account,
      chatId,
      edits.externalId,
      turnId,
    );
    if (row === undefined) return false;
    const waiting = parseInbound(row.text('payload'));
    if (waiting.sender.id !== sender.id) return false;
    db.run(
      'UPDATE inbound SET payload = ?, updated_at = ? WHERE id = ?',
      JSON.stringify({ ...waiting, text: edits.text }),
      clock.now(),
      row.text('id'),
    );
    return true;
  }

  #insert(message: InboundMessage, state: string, reason: string | null): boolean {
    const { db, clock } = this.#journal;
    if (this.#isKnown(message)) return false;
    const seq = db.insert(
      `INSERT OR IGNORE INTO inbound
         (id, channel, account, chat, external_id, session, payload, role, origin, state, reason, received_at, updated_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      message.id,
      message.channel,
      message.account,
      message.chatId,
      message.externalId,
      message.sessionKey,
      JSON.stringify(message),
      message.role,
      message.origin,
      state,
      reason,
      message.receivedAt,
      clock.now(),
    );
    if (seq === null) return false;
    if (state === 'accepted') db.queued(INBOUND, seq);
    if (message.role === 'owner' && message.origin === 'user') this.#rememberOwner(message, seq);
    return true;
  }

  /** Stores the newest message of each chat of an owner, without its content, so that notices can be sent there later. */
  #rememberOwner(message: InboundMessage, seq: number): void {
    this.#journal.db.run(
      'INSERT OR REPLACE INTO owner_chats (channel, chat, direct, payload, seq) VALUES (?, ?, ?, ?, ?)',
      message.channel,
      message.chatId,
      message.chatType === 'direct' ? 1 : 0,
      JSON.stringify({
        ...message,
        text: '',
        media: [],
        context: [],
        edits: undefined,
        replyTo: undefined,
        metadata: {},
      }),
      seq,
    );
  }

  /** Whether a message with this key was accepted before. The key is kept (table `dedupe`) after the row is deleted. */
  #isKnown({ channel, account, chatId, externalId }: InboundMessage): boolean {
    const { db } = this.#journal;
    const found =
      db.get(
        'SELECT 1 AS n FROM inbound WHERE channel = ? AND account = ? AND chat = ? AND external_id = ?',
        channel,
        account,
        chatId,
        externalId,
      ) ?? db.get('SELECT 1 AS n FROM dedupe WHERE key = ?', dedupeKey(channel, account, chatId, externalId));
    return found !== undefined;
  }

  #overCap(message: InboundMessage, waiting: Map<string, number>): string | null {
    const { db } = this.#journal;
    const chat = db.get(
      "SELECT count(*) AS n FROM inbound WHERE channel = ? AND chat = ? AND state = 'accepted'",
      message.channel,
      message.chatId,
    );
    const cap = CHAT_CAP + (message.text.startsWith('/') ? COMMANDS_MORE : 0);
    if ((chat?.number('n') ?? 0) >= cap) return 'chat-full';
    const all = "SELECT count(*) AS n FROM inbound WHERE channel = ? AND state = 'accepted'";
    const count = waiting.get(message.channel) ?? db.get(all, message.channel)?.number('n') ?? 0;
    waiting.set(message.channel, count + 1);
    return count >= CHANNEL_CAP ? 'channel-full' : null;
  }

  #noticeOnce(message: InboundMessage): void {
    const { db, clock } = this.#journal;
    const id = `full:${message.channel}:${message.chatId}`;
    const now = clock.now();
    // A notice from the future was written before the clock was set back.
    db.run('DELETE FROM outbound WHERE id = ? AND NOT created_at BETWEEN ? AND ?', id, now - NOTICE_EVERY_MS, now);
    this.#outbox.insert({
      message: {
        id,
        channel: message.channel,
        chatId: message.chatId,
        ...(message.threadId === undefined ? {} : { threadId: message.threadId }),
        kind: 'notice',
        text: 'Too many messages are waiting here, so I did not accept the newest ones. Please send them again when I have caught up, or send /stop to drop the waiting ones.',
        media: [],
        expiresAt: now + 24 * 3_600_000,
        metadata: {},
      },
      parts: [],
    });
  }
}
