import type { MessageState } from '../bus/reactions.ts';
import type { InboundMessage } from '../bus/messages.ts';
import type { Row } from '../storage/database.ts';
import { JournalStore } from './rows.ts';

/** Where a reaction of the assistant stands. */
export interface ReactionPlace extends Pick<InboundMessage, 'channel' | 'chatId' | 'threadId' | 'sessionKey'> {
  /** Id of the inbound message. */
  readonly id: string;
  /** The platform's id of it. */
  readonly messageId: string;
}

/** What a person's message has come to; `over`: it gets no reaction any more. */
export type ReachedState = MessageState | 'over';

/**
 * The reactions of the assistant that may stand on people's messages (table `shown_reactions`), so that a later process
 * can take them away. How far a message has come is read from its own row.
 */
export class ShownReactions extends JournalStore {
  /** How far a message has come. */
  stateOf(id: string): ReachedState {
    const row = this.journal.db.get(
      `SELECT inbound.state, turns.outcome FROM inbound LEFT JOIN turns ON turns.id = inbound.turn_id
       WHERE inbound.id = ?`,
      id,
    );
    switch (row?.text('state')) {
      case 'accepted':
        return 'seen';
      case 'running':
        return 'working';
      case 'dead':
        return 'failed';
      case 'done': {
        const outcome = row?.textOrNull('outcome') ?? 'stopped';
        return outcome === 'failed' ? 'failed' : outcome === 'stopped' ? 'over' : 'done';
      }
      default:
        return 'over';
    }
  }

  /** Writes down, before the platform is called, which reactions of ours may stand on a message from now on. */
  note({ id, channel, chatId, threadId, messageId }: ReactionPlace, emojis: readonly string[]): Promise<void> {
    const { db, clock } = this.journal;
    return db.write(() => {
      db.run(
        `INSERT OR REPLACE INTO shown_reactions (inbound, channel, chat, thread, message, emojis, at)
         VALUES (?, ?, ?, ?, ?, ?, ?)`,
        id,
        channel,
        chatId,
        threadId ?? null,
        messageId,
        JSON.stringify(emojis),
        clock.now(),
      );
    }, 'lazy');
  }

  /** Nothing of ours has to be taken away from this message any more. */
  forget(id: string): Promise<void> {
    const { db } = this.journal;
    return db.write(() => void db.run('DELETE FROM shown_reactions WHERE inbound = ?', id), 'lazy');
  }

  /** The reactions of a channel that may stand, those of earlier processes too. */
  of(channel: string): readonly { readonly place: ReactionPlace; readonly emojis: readonly string[] }[] {
    return this.journal.db
      .all(
        `SELECT shown_reactions.*, inbound.session FROM shown_reactions
         LEFT JOIN inbound ON inbound.id = shown_reactions.inbound WHERE shown_reactions.channel = ?`,
        channel,
      )
      .map((row) => ({ place: toPlace(row), emojis: JSON.parse(row.text('emojis')) as readonly string[] }));
  }
}

function toPlace(row: Row): ReactionPlace {
  const threadId = row.textOrNull('thread');
  return {
    id: row.text('inbound'),
    channel: row.text('channel'),
    chatId: row.text('chat'),
    ...(threadId === null ? {} : { threadId }),
    sessionKey: row.textOrNull('session') ?? '',
    messageId: row.text('message'),
  };
}
