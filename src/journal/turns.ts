import type { InboundMessage, Role, TurnOutcome } from '../bus/messages.ts';
import type { Outbox, OutboundDraft } from './outbox.ts';
import { parseInbound, type LedgerPorts } from './rows.ts';

/** A turn that was begun and not closed. */
export interface OpenTurn {
  readonly id: string;
  readonly session: string;
  readonly parent: string | null;
  readonly role: string;
  readonly state: 'running' | 'stopping';
  readonly attempts: number;
  /** What it answers, as far as the journal knows; the tape may name more. */
  readonly messages: readonly InboundMessage[];
}

/** Turns at their borders: claimed, resumed, closed. What happens inside is on the tape. */
export class Turns {
  readonly #ports: LedgerPorts & { readonly outbox: Outbox };

  constructor(ports: LedgerPorts & { readonly outbox: Outbox }) {
    this.#ports = ports;
  }

  /** Begins a turn for these messages; returns those that were still waiting (a /stop may have refused some). */
  claim(turn: {
    id: string;
    session: string;
    role: Role;
    messages: readonly InboundMessage[];
  }): Promise<readonly InboundMessage[]> {
    const { db, clock } = this.#ports;
    return db.write(() => {
      const claimed = turn.messages.filter((message) => this.#take(turn.id, message.id));
      if (claimed.length > 0) {
        db.run(
          `INSERT INTO turns (id, session, role, state, attempts, started_at, updated_at)
           VALUES (?, ?, ?, 'running', 1, ?, ?)`,
          turn.id,
          turn.session,
          turn.role,
          clock.now(),
          clock.now(),
        );
      }
      return claimed;
    });
  }

  /** The turn has these messages on its tape: they are its own now. */
  absorb(turnId: string, inboundIds: readonly string[]): Promise<void> {
    return this.#ports.db.write(() => {
      for (const id of inboundIds) this.#take(turnId, id);
    });
  }

  /** Marks running turns to be stopped; returns those that still were running. */
  markStopping(turnIds: readonly string[]): Promise<readonly string[]> {
    const { db, clock } = this.#ports;
    const sql = "UPDATE turns SET state = 'stopping', updated_at = ? WHERE id = ? AND state = 'running'";
    return db.write(() => turnIds.filter((id) => db.run(sql, clock.now(), id) === 1));
  }

  /** One more try after a crash; returns how many that makes. */
  resume(turnId: string): Promise<number> {
    return this.#addAttempt(turnId, 1);
  }

  /** An orderly stop of the process is not the turn's fault. */
  suspend(turnId: string): Promise<number> {
    return this.#addAttempt(turnId, -1);
  }

  /** Turns that were not closed, oldest first. */
  open(): readonly OpenTurn[] {
    const { db } = this.#ports;
    return db.all("SELECT * FROM turns WHERE state IN ('running', 'stopping') ORDER BY id").map((row) => ({
      id: row.text('id'),
      session: row.text('session'),
      parent: row.textOrNull('parent'),
      role: row.text('role'),
      state: row.text('state') === 'stopping' ? 'stopping' : 'running',
      attempts: row.number('attempts'),
      messages: db
        .all('SELECT payload FROM inbound WHERE turn_id = ? AND payload IS NOT NULL ORDER BY seq', row.text('id'))
        .map((inbound) => parseInbound(inbound.text('payload'))),
    }));
  }

  /**
   * Closes a running turn and queues what it says, in one transaction. False when it was stopped or closed before:
   * then nothing is queued.
   */
  close(turnId: string, outcome: TurnOutcome, says: readonly OutboundDraft[]): Promise<boolean> {
    return this.#end(turnId, "state = 'running'", 'done', outcome, says);
  }

  /** Closes a turn that a /stop marked; the reply was queued with the /stop. */
  closeStopped(turnId: string): Promise<boolean> {
    return this.#end(turnId, "state = 'stopping'", 'done', 'stopped', []);
  }

  /** Gives a turn up; the notice tells the person. */
  dead(turnId: string, notice: readonly OutboundDraft[]): Promise<boolean> {
    return this.#end(turnId, "state IN ('running', 'stopping')", 'dead', 'failed', notice);
  }

  #end(
    turnId: string,
    condition: string,
    state: 'done' | 'dead',
    outcome: TurnOutcome,
    says: readonly OutboundDraft[],
  ): Promise<boolean> {
    const { db, clock, outbox } = this.#ports;
    return db.write(() => {
      const now = clock.now();
      const ended = db.run(
        `UPDATE turns SET state = ?, outcome = ?, updated_at = ? WHERE id = ? AND ${condition}`,
        state,
        outcome,
        now,
        turnId,
      );
      if (ended === 0) return false;
      db.run(
        "UPDATE inbound SET state = ?, updated_at = ? WHERE turn_id = ? AND state = 'running'",
        state,
        now,
        turnId,
      );
      for (const draft of says) outbox.insert(draft);
      return true;
    });
  }

  #take(turnId: string, inboundId: string): boolean {
    const { db, clock } = this.#ports;
    const taken = db.run(
      "UPDATE inbound SET state = 'running', turn_id = ?, updated_at = ? WHERE id = ? AND state = 'accepted'",
      turnId,
      clock.now(),
      inboundId,
    );
    return taken === 1;
  }

  #addAttempt(turnId: string, by: 1 | -1): Promise<number> {
    const { db, clock } = this.#ports;
    return db.write(() => {
      db.run(
        "UPDATE turns SET attempts = attempts + ?, updated_at = ? WHERE id = ? AND state IN ('running', 'stopping')",
        by,
        clock.now(),
        turnId,
      );
      return db.get('SELECT attempts FROM turns WHERE id = ?', turnId)?.number('attempts') ?? 0;
    });
  }
}
