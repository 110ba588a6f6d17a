import type { InboundMessage } from '../bus/messages.ts';
import type { Database } from '../storage/database.ts';

/** What names a message of a platform. */
type InboundKey = Pick<InboundMessage, 'channel' | 'account' | 'chatId' | 'externalId'>;

/** Where a message is on its way. */
interface InboundPlace {
  readonly id: string;
  readonly session: string;
  /** `accepted`: it waits. `running`: a turn answers it. `done`, `refused` or `dead`: it is over. */
  readonly state: string;
  /** Why it was refused, such as `stopped`; null when it was not. */
  readonly reason: string | null;
  /** The turn that answers it; null: none yet. */
  readonly turnId: string | null;
  /** Milliseconds since 1970. */
  readonly receivedAt: number;
}

/** Says where inbound messages are on their way. */
export class InboundPlaces {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Where a message is on its way; undefined: there is none with this key, or it is no longer kept. */
  find({ channel, account, chatId, externalId }: InboundKey): InboundPlace | undefined {
    const row = this.#db.get(
      `SELECT id, session, state, reason, turn_id, received_at FROM inbound
       WHERE channel = ? AND account = ? AND chat = ? AND external_id = ?`,
      channel,
      account,
      chatId,
      externalId,
    );
    if (row === undefined) return undefined;
    return {
      id: row.text('id'),
      session: row.text('session'),
      state: row.text('state'),
      reason: row.textOrNull('reason'),
      turnId: row.textOrNull('turn_id'),
      receivedAt: row.number('received_at'),
    };
  }
}
