import type { InboundMessage } from '../bus/messages.ts';
import type { Inbox } from './inbox.ts';
import { parseInbound, type JournalDatabase } from './rows.ts';

/** A subagent whose turn waits or runs. */
export interface OpenSubagent {
  readonly message: InboundMessage;
  readonly state: 'waiting' | 'running';
}

/** The state of a task. */
export interface TaskState {
  readonly message: InboundMessage;
  /** `dead`: it was given up, or got no turn. */
  readonly state: 'accepted' | 'running' | 'done' | 'dead';
  readonly turnId: string | null;
}

const OPEN = `SELECT payload, state FROM inbound WHERE origin = 'subagent' AND state = 'accepted'
  UNION ALL SELECT inbound.payload, inbound.state FROM turns INDEXED BY turns_open CROSS JOIN inbound ON inbound.turn_id = turns.id
    WHERE turns.state IN ('running', 'stopping') AND inbound.origin = 'subagent'`;

/** Finds and inserts tasks for subagents, which are inbound messages of origin `subagent`. */
export class Subagents {
  readonly #journal: JournalDatabase;
  readonly #inbox: Inbox;

  constructor(journal: JournalDatabase, inbox: Inbox) {
    this.#journal = journal;
    this.#inbox = inbox;
  }

  /** Inserts a task, once for each tool call. `full`: `most` others are open; `known`: it was inserted before. */
  accept(message: InboundMessage, most: number): Promise<'accepted' | 'known' | 'full'> {
    return this.#journal.db.write(() => {
      if (this.#row(message) !== undefined) return 'known';
      if (this.open().length >= most) return 'full';
      return this.#inbox.enqueueInternal(message) ? 'accepted' : 'known';
    });
  }

  /** All subagents that wait or run. */
  open(): readonly OpenSubagent[] {
    return this.#journal.db
      .all(OPEN)
      .map((row): OpenSubagent => ({
        message: parseInbound(row.text('payload')),
        state: row.text('state') === 'accepted' ? 'waiting' : 'running',
      }))
      .filter(({ message }) => message.metadata['subagent'] !== undefined);
  }

  /** The state of a task; undefined: it was never accepted, or its row was deleted by age. */
  taskState(message: Pick<InboundMessage, 'channel' | 'account' | 'chatId' | 'externalId'>): TaskState | undefined {
    const row = this.#row(message);
    const payload = row?.textOrNull('payload') ?? null;
    if (row === undefined || payload === null) return undefined;
    const state = row.text('state');
    const known = state === 'accepted' || state === 'running' || state === 'done';
    return {
      message: parseInbound(payload),
      state: known ? state : 'dead',
      turnId: row.textOrNull('turn_id'),
    };
  }

  /** The tasks that a turn gave to subagents and that have a turn. */
  ofTurn(parent: string): readonly { readonly turnId: string; readonly message: InboundMessage }[] {
    return this.#journal.db
      .all(
        `SELECT turns.id AS id, inbound.payload AS payload FROM turns JOIN inbound ON inbound.turn_id = turns.id
         WHERE turns.parent = ? AND inbound.payload IS NOT NULL`,
        parent,
      )
      .map((row) => ({ turnId: row.text('id'), message: parseInbound(row.text('payload')) }));
  }

  /** Ends a task: drops it if it waits, else marks its turn as stopping and returns the id of that turn, which has to be aborted. */
  end(message: InboundMessage): Promise<string | null> {
    const { db, clock } = this.#journal;
    return db.write(() => {
      const row = this.#row(message);
      const turnId = row?.textOrNull('turn_id') ?? null;
      if (turnId === null) {
        db.run(
          "UPDATE inbound SET state = 'refused', reason = 'stopped', updated_at = ? WHERE id = ? AND state = 'accepted'",
          clock.now(),
          message.id,
        );
        return null;
      }
      db.run(
        "UPDATE turns SET state = 'stopping', updated_at = ? WHERE id = ? AND state = 'running'",
        clock.now(),
        turnId,
      );
      return turnId;
    });
  }

  #row({
    channel,
    account,
    chatId,
    externalId,
  }: Parameters<Subagents['taskState']>[0]): ReturnType<JournalDatabase['db']['get']> {
    return this.#journal.db.get(
      'SELECT payload, state, turn_id FROM inbound WHERE channel = ? AND account = ? AND chat = ? AND external_id = ?',
      channel,
      account,
      chatId,
      externalId,
    );
  }
}
