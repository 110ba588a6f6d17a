import type { InboxPort, Queued } from '../bus/bus.ts';
import type { AcceptResult, Cursor, InboundMessage } from '../bus/messages.ts';
import { takeAnswer, type AnswerTaken, type Interpreter } from './answers.ts';
import { moveCursors } from './cursors.ts';
import { dedupeKey, INBOUND, parseInbound, placeholders, type JournalPorts } from './rows.ts';
import type { Outbox } from './outbox.ts';
import { isStopRequest, stopSession, type Stopped } from './stop.ts';

/** Waiting messages of one chat; more are refused with one notice. */
const CHAT_CAP = 50;
/** Room for commands in a full chat: they are how a person finds out what is going on. */
const COMMANDS_MORE = 10;
/** Waiting messages of one channel. */
const CHANNEL_CAP = 20_000;
/** A chat is told at most this often that it is too fast. */
const NOTICE_EVERY_MS = 600_000;

export type InboxPorts = JournalPorts & { readonly outbox: Outbox; readonly interpret: Interpreter };

/** Every message that came in, once each. Accepted means: on disk. */
export class Inbox implements InboxPort {
  readonly #ports: InboxPorts;
  readonly #stopListeners = new Set<(stopped: Stopped) => void>();
  readonly #answerListeners = new Set<(taken: AnswerTaken) => void>();
  #background: (session: string) => number = () => 0;

  constructor(ports: InboxPorts) {
    this.#ports = ports;
  }

  /** Told after the commit of a /stop what it ended. */
  onStop(listener: (stopped: Stopped) => void): void {
    this.#stopListeners.add(listener);
  }

  /** Told after the commit of a message that answered a question, or tried to. */
  onAnswer(listener: (taken: AnswerTaken) => void): void {
    this.#answerListeners.add(listener);
  }

  async accept(messages: readonly InboundMessage[], cursors: readonly Cursor[] = []): Promise<readonly AcceptResult[]> {
    const stops: Stopped[] = [];
    const answers: AnswerTaken[] = [];
    const results = await this.#ports.db.write(() => {
      const waiting = new Map<string, number>();
      moveCursors(this.#ports, cursors);
      return messages.map((message) => this.#acceptOne(message, waiting, { stops, answers }));
    });
    for (const stopped of stops) for (const listener of this.#stopListeners) listener(stopped);
    for (const taken of answers) for (const listener of this.#answerListeners) listener(taken);
    return results;
  }

  /** Part of a transaction of the caller's: takes what the program says to itself, whatever waits. False: it was taken before. */
  enqueueInternal(message: InboundMessage): boolean {
    return this.#insert(message, 'accepted', null);
  }

  /** The same in a transaction of its own. */
  acceptOwn(message: InboundMessage): Promise<boolean> {
    return this.#ports.db.write(() => this.enqueueInternal(message));
  }

  /** What the program said to itself needs no turn any more; false: a turn has it, or nobody said it. */
  withdrawInternal(message: Pick<InboundMessage, 'channel' | 'account' | 'chatId' | 'externalId'>): Promise<boolean> {
    const { db, clock } = this.#ports;
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

  /** A /stop in a session also ends so many other things there, which its reply counts. */
  countsBackground(count: (session: string) => number): void {
    this.#background = count;
  }

  page(after: number, limit: number): readonly Queued<InboundMessage>[] {
    const { db } = this.#ports;
    return db
      .all(
        "SELECT seq, payload FROM inbound WHERE state = 'accepted' AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?",
        after,
        db.durableUpTo(INBOUND),
        limit,
      )
      .map((row) => ({ seq: row.number('seq'), message: parseInbound(row.text('payload')) }));
  }

  onQueued(listener: () => void): Disposable {
    return this.#ports.db.onQueued(INBOUND, listener);
  }

  /** The oldest messages of a session that no turn has taken. */
  waiting(session: string, limit: number): readonly InboundMessage[] {
    const { db } = this.#ports;
    return db
      .all(
        "SELECT payload FROM inbound WHERE session = ? AND state = 'accepted' AND seq <= ? ORDER BY seq LIMIT ?",
        session,
        db.durableUpTo(INBOUND),
        limit,
      )
      .map((row) => parseInbound(row.text('payload')));
  }

  /** Sessions in which messages wait that no turn has taken. */
  waitingSessions(): readonly string[] {
    return this.#ports.db
      .all("SELECT DISTINCT session FROM inbound WHERE state = 'accepted'")
      .map((row) => row.text('session'));
  }

  /** The messages with these ids, in order of arrival. */
  byId(ids: readonly string[]): readonly InboundMessage[] {
    return this.#ports.db
      .all(
        `SELECT payload FROM inbound WHERE id IN (${placeholders(ids)}) AND payload IS NOT NULL ORDER BY seq`,
        ...ids,
      )
      .map((row) => parseInbound(row.text('payload')));
  }

  /** When somebody was last heard on a channel, milliseconds since 1970; undefined: nobody ever was. */
  heardUntil(channel: string): number | undefined {
    const row = this.#ports.db.get(
      "SELECT max(received_at) AS at FROM inbound WHERE channel = ? AND origin = 'user' HAVING at IS NOT NULL",
      channel,
    );
    return row?.number('at');
  }

  counts(): Readonly<Record<string, number>> {
    const rows = this.#ports.db.all(
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
    // A corrected message was written for what came before the question.
    const answer = message.edits === undefined ? takeAnswer(this.#ports, this.#ports.interpret, message) : null;
    const stop = answer === null && isStopRequest(message);
    const isEdit = !stop && answer === null && this.#replaceEdited(message);
    const state = stop || answer !== null || isEdit ? 'done' : full === null ? 'accepted' : 'refused';
    const reason = stop ? 'stop' : answer !== null ? 'answer' : isEdit ? 'edit' : full;
    if (!this.#insert(message, state, reason)) return 'duplicate';
    if (stop) {
      stops.push(stopSession(this.#ports, message, this.#background(message.sessionKey)));
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
   * Puts an edit that waits in the place of what it edits, which this turn has and no model has read. False: it does not
   * wait any more, or the turn does not have that.
   */
  correct(turnId: string, edit: InboundMessage): Promise<boolean> {
    const { db, clock } = this.#ports;
    return db.write(() => {
      if (db.get("SELECT 1 FROM inbound WHERE id = ? AND state = 'accepted'", edit.id) === undefined) return false;
      if (!this.#replaceEdited(edit, turnId)) return false;
      const done = "UPDATE inbound SET state = 'done', reason = 'edit', updated_at = ? WHERE id = ?";
      return db.run(done, clock.now(), edit.id) === 1;
    });
  }

  /** Puts an edit in the place of what it edits, if that waits, or this turn has it; false when it is a message of its own. */
  #replaceEdited({ edits, channel, account, chatId, sender }: InboundMessage, turnId: string | null = null): boolean {
    const { db, clock } = this.#ports;
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
    const { db, clock } = this.#ports;
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

  /** Where an owner wrote last, in each of their chats: where they are told things, however long ago that was. No words. */
  #rememberOwner(message: InboundMessage, seq: number): void {
    this.#ports.db.run(
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

  /** Also when it is so long ago that nothing but the key is kept. */
  #isKnown({ channel, account, chatId, externalId }: InboundMessage): boolean {
    const { db } = this.#ports;
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
    const { db } = this.#ports;
    const chat = db.get(
      "SELECT count(*) AS n FROM inbound WHERE channel = ? AND chat = ? AND state = 'accepted'",
      message.channel,
      message.chatId,
    );
    const cap = CHAT_CAP + (message.text.startsWith('/') ? COMMANDS_MORE : 0);
    if ((chat?.number('n') ?? 0) >= cap) return 'chat-full';
    const known = waiting.get(message.channel);
    const count =
      known ??
      db
        .get("SELECT count(*) AS n FROM inbound WHERE channel = ? AND state = 'accepted'", message.channel)
        ?.number('n') ??
      0;
    waiting.set(message.channel, count + 1);
    return count >= CHANNEL_CAP ? 'channel-full' : null;
  }

  #noticeOnce(message: InboundMessage): void {
    const { db, clock, outbox } = this.#ports;
    const id = `full:${message.channel}:${message.chatId}`;
    const now = clock.now();
    // One from the future was written before the clock was put back.
    db.run('DELETE FROM outbound WHERE id = ? AND NOT created_at BETWEEN ? AND ?', id, now - NOTICE_EVERY_MS, now);
    outbox.insert({
      message: {
        id,
        channel: message.channel,
        chatId: message.chatId,
        ...(message.threadId === undefined ? {} : { threadId: message.threadId }),
        kind: 'notice',
        text: 'Too many messages are waiting here, so I did not take the newest ones. Please send them again when I have caught up, or send /stop to drop what waits.',
        media: [],
        expiresAt: now + 24 * 3_600_000,
        metadata: {},
      },
      parts: [],
    });
  }
}
