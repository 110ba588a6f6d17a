import { opinionOf, type ReactionDraft, type ToldReaction } from '../bus/reactions.ts';
import { UNTRUSTED, type InboundMessage, type Role } from '../bus/messages.ts';
import type { Row } from '../storage/database.ts';
import { parseOutbound, JournalStore, type JournalDatabase } from './rows.ts';

/** At most this many reactions are told with one message; of more, the newest. */
const MOST_TOLD = 5;
const STANDS = 'told_by IS NULL AND stands = 1';

/** The message of the assistant that a reaction stands on. */
export interface ReactedMessage {
  readonly outboundId: string;
  readonly threadId: string | undefined;
}

/** What people think of the assistant's messages, by their reactions (table `reactions`). A reaction never starts a turn. */
export class Reactions extends JournalStore {
  /** The answer, or part of one, with this platform id; undefined: the assistant wrote no such message there. */
  about({
    channel,
    chatId,
    messageId,
  }: Pick<ReactionDraft, 'channel' | 'chatId' | 'messageId'>): ReactedMessage | undefined {
    const row = this.journal.db.get(
      `SELECT outbound.id, outbound.payload FROM parts CROSS JOIN outbound ON outbound.id = parts.outbound_id
       WHERE parts.platform_id = ? AND outbound.channel = ? AND outbound.chat = ? AND outbound.kind IN ('answer', 'part')
         AND outbound.payload IS NOT NULL LIMIT 1`,
      messageId,
      channel,
      chatId,
    );
    if (row === undefined) return undefined;
    return { outboundId: row.text('id'), threadId: parseOutbound(row.text('payload')).threadId };
  }

  /**
   * Keeps reactions, or marks them as taken back; one that says nothing about the message is left out, and one that is
   * older than what is known changes nothing. Resolves after the commit.
   */
  keep(
    reactions: readonly (ReactionDraft & { readonly outboundId: string; readonly session: string })[],
  ): Promise<void> {
    const { db } = this.journal;
    return db.write(() => {
      for (const { channel, chatId, messageId, sender, role, emoji, isSet, at, outboundId, session } of reactions) {
        const opinion = opinionOf(emoji);
        if (opinion === undefined) continue;
        db.run(
          `INSERT INTO reactions (channel, chat, message, person, emoji, session, outbound, name, role, stands, at)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
           ON CONFLICT (channel, chat, message, person, emoji) DO UPDATE SET
             told_by = CASE WHEN excluded.stands = 1 AND stands = 0 THEN NULL ELSE told_by END,
             stands = excluded.stands, role = excluded.role, name = excluded.name, at = excluded.at
             WHERE excluded.at >= at`,
          channel,
          chatId,
          messageId,
          sender.id,
          opinion,
          session,
          outboundId,
          sender.name ?? sender.username ?? null,
          role,
          isSet ? 1 : 0,
          at,
        );
      }
    });
  }

  /** The reactions that the model is told of with this message, oldest first. */
  toldWith(inboundId: string): readonly ToldReaction[] {
    return this.journal.db
      .all(
        `SELECT reactions.emoji, person, name, reactions.role, outbound.payload FROM reactions
         LEFT JOIN outbound ON outbound.id = reactions.outbound
         WHERE reactions.told_by = ? AND stands = 1 ORDER BY reactions.at DESC, reactions.seq DESC LIMIT ?`,
        inboundId,
        MOST_TOLD,
      )
      .map(toTold)
      .toReversed();
  }
}

/** Within the transaction that begins a turn: its first message of a person takes the reactions that no model was told of. */
export function giveReactions({ db }: JournalDatabase, session: string, messages: readonly InboundMessage[]): void {
  const first = messages.find(({ origin }) => origin === 'user');
  if (first !== undefined)
    db.run(`UPDATE reactions SET told_by = ? WHERE session = ? AND ${STANDS}`, first.id, session);
}

function toTold(row: Row): ToldReaction {
  const name = row.textOrNull('name');
  const payload = row.textOrNull('payload');
  const message = payload === null ? null : parseOutbound(payload);
  return {
    emoji: row.text('emoji'),
    person: { id: row.text('person'), ...(name === null ? {} : { name }) },
    role: row.text('role') as Role,
    text: message?.text ?? null,
    untrusted: message?.metadata[UNTRUSTED] === true,
  };
}
