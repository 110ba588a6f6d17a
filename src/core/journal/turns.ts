import type { InboundMessage, Role, TurnOutcome } from '../bus/messages.ts';
import type { Row } from '../storage/database.ts';
import { cancelQuestions } from './questions.ts';
import type { Inbox } from './inbox.ts';
import { takePreviews } from './previews.ts';
import type { Outbox, OutboundDraft } from './outbox.ts';
import { giveReactions } from './reactions.ts';
import { parseInbound, type JournalDatabase } from './rows.ts';
import { dropOlder, dropTasks, endTurns, type EndedWork } from './stop.ts';

/** A turn that was begun and not closed. */
export interface OpenTurn {
  readonly id: string;
  readonly session: string;
  readonly parent: string | null;
  readonly role: string;
  readonly state: 'running' | 'stopping';
  /** Attempts that began at the present `progress`, this one included; one that ended with an orderly stop does not count. */
  readonly attempts: number;
  /** How far the turn had come on its tape when the present attempt began; grows with each step. */
  readonly progress: number;
  /** Attempts that began because the process died. */
  readonly resumed: number;
  /** The turn runs a slash command, which is not run again after a crash. */
  readonly isCommand: boolean;
  /** The messages that it answers, as far as the journal knows; the tape may name more. */
  readonly messages: readonly InboundMessage[];
}

/** A turn that was closed. */
export interface ClosedTurn {
  readonly id: string;
  readonly role: string;
  readonly outcome: string | null;
  /** Empty when they are no longer kept. */
  readonly messages: readonly InboundMessage[];
}

interface TurnEnding {
  readonly turnId: string;
  /** SQL condition: only a turn in such a state is closed. */
  readonly when: string;
  readonly state: 'done' | 'dead';
  readonly outcome: TurnOutcome;
  readonly replies: readonly OutboundDraft[];
  /** Messages to other sessions, such as the result of a subagent. @default none */
  readonly internal?: readonly InboundMessage[];
}

const RUNNING = "state = 'running'";

/** Turns at their borders: claimed, resumed, closed. What happens inside is on the tape. */
export class Turns {
  readonly #journal: JournalDatabase;
  readonly #outbox: Outbox;
  readonly #inbox: Inbox;

  constructor(journal: JournalDatabase, outbox: Outbox, inbox: Inbox) {
    this.#journal = journal;
    this.#outbox = outbox;
    this.#inbox = inbox;
  }

  /** Turns that run now begin to count their attempts anew, because their process stayed up for long. */
  calm(): Promise<void> {
    const { db } = this.#journal;
    return db.write(() => {
      db.run(
        `UPDATE turns INDEXED BY turns_open SET attempts = min(attempts, 1), resumed = 0
         WHERE state IN ('running', 'stopping') AND state = 'running'`,
      );
    });
  }

  /**
   * Begins a turn for these messages. Returns the ones it took: messages that are still waiting with the given text (a /stop may
   * have dropped some; one that was edited meanwhile keeps waiting). None: no turn was begun. With `command` the outcome
   * is `command` from the start, and no /stop ends the turn.
   */
  claim(turn: {
    id: string;
    session: string;
    role: Role;
    messages: readonly InboundMessage[];
    command?: boolean;
    /** Id of the turn that started this subagent; a /stop of that turn also ends this one. */
    parent?: string;
    /** Resolve when the row is durable. @default only that of a command is */
    durable?: boolean;
  }): Promise<readonly InboundMessage[]> {
    // A power loss may take the row of a turn: recovery finds the turn by its tape (`adopt`). A command has no tape.
    const durability = (turn.durable ?? turn.command === true) ? 'durable' : 'lazy';
    return this.#journal.db.write(() => {
      const claimed = turn.messages.filter((message) => this.#take(turn.id, message.id, message.text));
      if (claimed.length > 0) this.#begin(turn);
      if (turn.command !== true) giveReactions(this.#journal, turn.session, claimed);
      return claimed;
    }, durability);
  }

  /**
   * Inserts a turn that is on a tape but not in the journal, with those of its messages that wait. `written`: messages of it
   * that the journal may lack; they are inserted. False: none waits.
   */
  adopt(
    turn: { id: string; session: string; role: Role; sources: readonly string[] },
    written: readonly InboundMessage[] = [],
  ): Promise<boolean> {
    const { db } = this.#journal;
    return db.write(() => {
      if (db.get('SELECT 1 FROM turns WHERE id = ?', turn.id) !== undefined) return false;
      for (const message of written) {
        if (db.get('SELECT 1 FROM inbound WHERE id = ?', message.id) === undefined)
          this.#inbox.enqueueInternal(message);
      }
      const taken = turn.sources.filter((id) => this.#take(turn.id, id));
      if (taken.length > 0) this.#begin(turn);
      return taken.length > 0;
    });
  }

  /** For a rerun: begins a turn with the messages of the closed turn `of`, and closes the command's turn, in one transaction. */
  again(turn: { id: string; session: string; role: Role; of: string; command: string }): Promise<void> {
    const { db, clock } = this.#journal;
    return db.write(() => {
      this.#begin(turn);
      db.run(
        "UPDATE inbound SET state = 'running', turn_id = ?, updated_at = ? WHERE turn_id = ?",
        turn.id,
        clock.now(),
        turn.of,
      );
      this.#endNow({ turnId: turn.command, when: RUNNING, state: 'done', outcome: 'command', replies: [] });
    });
  }

  /** Assigns waiting messages, which are on the turn's tape, to the turn. Returns those that it took, as the journal has them. */
  absorb(turnId: string, inboundIds: readonly string[]): Promise<readonly InboundMessage[]> {
    return this.#journal.db.write(() => {
      const taken = new Set(inboundIds.filter((id) => this.#take(turnId, id)));
      return this.messages(turnId).filter(({ id }) => taken.has(id));
    });
  }

  /** Marks the session's running turns as stopping; with `drop` also drops the messages and subagent tasks that wait. */
  interrupt(message: InboundMessage, options: { drop: boolean }): Promise<EndedWork> {
    return this.#journal.db.write(() => {
      cancelQuestions(this.#journal, { session: message.sessionKey });
      return {
        turnIds: endTurns(this.#journal, message, { background: options.drop }),
        dropped: options.drop
          ? [
              ...dropOlder(this.#journal, message, 'interrupted'),
              ...dropTasks(this.#journal, { session: message.sessionKey }, 'interrupted'),
            ]
          : [],
      };
    });
  }

  /** Whether a /stop or an interruption marked this turn. */
  isStopping(turnId: string): boolean {
    return this.#journal.db.get("SELECT 1 FROM turns WHERE id = ? AND state = 'stopping'", turnId) !== undefined;
  }

  /** Whether one of these sessions has an open turn or a waiting message. */
  isBusy(sessions: readonly string[]): boolean {
    const { db } = this.#journal;
    return sessions.some(
      (session) =>
        db.get("SELECT 1 FROM turns WHERE session = ? AND state IN ('running', 'stopping') LIMIT 1", session) !==
          undefined ||
        db.get("SELECT 1 FROM inbound WHERE session = ? AND state = 'accepted' LIMIT 1", session) !== undefined,
    );
  }

  /** The newest turn of a session that is no slash command. */
  last(session: string): ClosedTurn | undefined {
    const row = this.#journal.db.get(
      `SELECT id, role, outcome FROM turns WHERE session = ? AND (outcome IS NULL OR outcome <> 'command')
       ORDER BY id DESC LIMIT 1`,
      session,
    );
    if (row === undefined) return undefined;
    return this.#closed(row);
  }

  /** The newest turn of a session that was answered and whose messages are still kept; undefined: there is none. */
  newestAnswered(session: string): string | undefined {
    return this.#journal.db
      .get(
        `SELECT id FROM turns WHERE session = ? AND state = 'done' AND outcome = 'answered'
           AND EXISTS (SELECT 1 FROM inbound WHERE turn_id = turns.id AND payload IS NOT NULL)
         ORDER BY id DESC LIMIT 1`,
        session,
      )
      ?.text('id');
  }

  /**
   * Turns of a session that failed or were stopped after `since` (ms since 1970) and whose messages are still kept,
   * newest first; at most 20.
   */
  unanswered(session: string, since: number): readonly ClosedTurn[] {
    return this.#journal.db
      .all(
        `SELECT id, role, outcome FROM turns
         WHERE session = ? AND outcome IN ('failed', 'stopped') AND state IN ('done', 'dead') AND updated_at >= ?
           AND EXISTS (SELECT 1 FROM inbound WHERE turn_id = turns.id AND payload IS NOT NULL)
         ORDER BY id DESC LIMIT 20`,
        session,
        since,
      )
      .map((row) => this.#closed(row));
  }

  /**
   * The newest turn that answered, or sent, the message `externalId` of the chat: of the session, or of a job for the chat if
   * the role of who asks is that of the job or the owner's.
   */
  ofMessage(
    { sessionKey, channel, chatId, role }: Pick<InboundMessage, 'sessionKey' | 'channel' | 'chatId' | 'role'>,
    externalId: string,
  ): ClosedTurn | undefined {
    const row = this.#journal.db.get(
      `SELECT id, role, outcome FROM turns
       WHERE (session = ?1 OR ((?6 = 'owner' OR role = ?6)
           AND EXISTS (SELECT 1 FROM inbound WHERE turn_id = turns.id AND channel = ?2 AND chat = ?3)))
         AND (outcome IS NULL OR outcome <> 'command') AND id IN (
           SELECT turn_id FROM inbound WHERE channel = ?2 AND chat = ?3 AND external_id = ?4
           UNION
           SELECT outbound.turn_id FROM outbound JOIN parts ON parts.outbound_id = outbound.id
           WHERE outbound.channel = ?2 AND outbound.chat = ?3 AND parts.platform_id = ?5
         ) ORDER BY id DESC LIMIT 1`,
      sessionKey,
      channel,
      chatId,
      externalId,
      externalId.replace(/^m:/u, ''),
      role,
    );
    return row === undefined ? undefined : this.#closed(row);
  }

  /**
   * Counts a new attempt of an open turn. `progress`: how far the turn has come on its tape. If it came further since the
   * last attempt, `attempts` begins again: at 2 when the process died there, else at 1.
   */
  resume(turnId: string, { progress, died }: { readonly progress: number; readonly died: boolean }): Promise<void> {
    const { db, clock } = this.#journal;
    const death = died ? 1 : 0;
    return db.write(() => {
      db.run(
        `UPDATE turns SET attempts = CASE WHEN ?1 > progress THEN ?2 ELSE attempts END + 1,
           progress = max(?1, progress), resumed = resumed + ?2, updated_at = ?3
         WHERE id = ?4 AND state IN ('running', 'stopping')`,
        progress,
        death,
        clock.now(),
        turnId,
      );
    });
  }

  /** Takes the present attempt of a turn back, for an orderly stop and for a turn that works without dying. */
  forgive(turnId: string): Promise<void> {
    const { db, clock } = this.#journal;
    return db.write(() => {
      db.run(
        `UPDATE turns SET attempts = max(attempts - 1, 0), updated_at = ?
         WHERE id = ? AND state IN ('running', 'stopping')`,
        clock.now(),
        turnId,
      );
    });
  }

  /** Turns that were not closed, oldest first. */
  open(): readonly OpenTurn[] {
    const { db } = this.#journal;
    const sql = "SELECT * FROM turns INDEXED BY turns_open WHERE state IN ('running', 'stopping') ORDER BY id";
    return db.all(sql).map((row) => ({
      id: row.text('id'),
      session: row.text('session'),
      parent: row.textOrNull('parent'),
      role: row.text('role'),
      state: row.text('state') === 'stopping' ? 'stopping' : 'running',
      attempts: row.number('attempts'),
      progress: row.number('progress'),
      resumed: row.number('resumed'),
      isCommand: row.textOrNull('outcome') === 'command',
      messages: this.messages(row.text('id')),
    }));
  }

  /**
   * Closes a running turn and queues its replies and its messages to other sessions, in one transaction (S9). False when
   * the turn was stopped or closed before: then nothing is queued.
   */
  close(
    turnId: string,
    outcome: TurnOutcome,
    replies: readonly OutboundDraft[],
    internal: readonly InboundMessage[] = [],
  ): Promise<boolean> {
    return this.#end({ turnId, when: RUNNING, state: 'done', outcome, replies, internal });
  }

  /** Closes a turn that a /stop or an interruption marked; no reply is queued. */
  closeStopped(turnId: string): Promise<boolean> {
    return this.#end({ turnId, when: "state = 'stopping'", state: 'done', outcome: 'stopped', replies: [] });
  }

  /** Gives an open turn up, as `failed`: queues a notice for the person and messages to other sessions. False: it was closed. */
  dead(turnId: string, notice: readonly OutboundDraft[], internal: readonly InboundMessage[] = []): Promise<boolean> {
    return this.#end({
      turnId,
      when: "state IN ('running', 'stopping')",
      state: 'dead',
      outcome: 'failed',
      replies: notice,
      internal,
    });
  }

  #closed(row: Row): ClosedTurn {
    const id = row.text('id');
    return { id, role: row.text('role'), outcome: row.textOrNull('outcome'), messages: this.messages(id) };
  }

  #end(end: TurnEnding): Promise<boolean> {
    return this.#journal.db.write(() => this.#endNow(end));
  }

  #endNow({ turnId, when, state, outcome, replies, internal = [] }: TurnEnding): boolean {
    const { db, clock } = this.#journal;
    const now = clock.now();
    const ended = db.run(
      `UPDATE turns SET state = ?, outcome = ?, updated_at = ? WHERE id = ? AND ${when}`,
      state,
      outcome,
      now,
      turnId,
    );
    if (ended === 0) return false;
    db.run("UPDATE inbound SET state = ?, updated_at = ? WHERE turn_id = ? AND state = 'running'", state, now, turnId);
    cancelQuestions(this.#journal, { turn: turnId });
    for (const draft of replies) this.#outbox.insert(draft);
    for (const message of internal) this.#inbox.enqueueInternal(message);
    const answers = replies.map(({ message }) => message);
    takePreviews(this.#journal, turnId, answers);
    return true;
  }

  #begin(turn: { id: string; session: string; role: Role; command?: boolean | string; parent?: string }): void {
    const { db, clock } = this.#journal;
    db.run(
      `INSERT INTO turns (id, session, parent, role, state, attempts, outcome, started_at, updated_at)
       VALUES (?, ?, ?, ?, 'running', 1, ?, ?, ?)`,
      turn.id,
      turn.session,
      turn.parent ?? null,
      turn.role,
      turn.command === true ? 'command' : null,
      clock.now(),
      clock.now(),
    );
  }

  /** The messages that a turn answers, including ones that joined it, in order of arrival; removed ones are left out. */
  messages(turnId: string): readonly InboundMessage[] {
    return this.#journal.db
      .all('SELECT payload FROM inbound WHERE turn_id = ? AND payload IS NOT NULL ORDER BY seq', turnId)
      .map((row) => parseInbound(row.text('payload')));
  }

  /** Assigns a waiting message to a turn. False: it does not wait, or its text is no longer `text`. */
  /** `text`: the message is left where it is if it has another text by now. */
  #take(turnId: string, inboundId: string, text?: string): boolean {
    const { db, clock } = this.#journal;
    if (text !== undefined) {
      // Not compared in SQL, for which a text that it can't hold would be unequal to itself, and wait for ever.
      const waiting = db.get("SELECT payload FROM inbound WHERE id = ? AND state = 'accepted'", inboundId);
      if (waiting === undefined || parseInbound(waiting.text('payload')).text !== text) return false;
    }
    const taken = db.run(
      "UPDATE inbound SET state = 'running', turn_id = ?, updated_at = ? WHERE id = ? AND state = 'accepted'",
      turnId,
      clock.now(),
      inboundId,
    );
    return taken === 1;
  }
}
