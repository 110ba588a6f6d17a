import type { OutboundMessage } from '../bus/messages.ts';
import type { Outbox } from './outbox.ts';
import { OPEN_OUTBOUND, type JournalDatabase } from './rows.ts';

/** What waited in a journal when it was backed up, and was ended after its restore. */
export interface EndedByRestore {
  /** Messages of people that no turn had taken. */
  readonly messages: number;
  readonly replies: number;
}

const REASON = 'restored';

/**
 * Ends, in one transaction, what waits in a journal that was restored from a backup: no one knows what became of it after
 * the backup. Messages are refused, so that a person can take one up again, replies expire unsent, and the owner gets
 * `notice` of it. Call it when no turn is open. Does nothing when the journal has a message with the id `id`.
 */
export async function endWaiting(
  { db, clock }: JournalDatabase,
  outbox: Outbox,
  { id, notice }: { readonly id: string; readonly notice: (ended: EndedByRestore) => OutboundMessage | null },
): Promise<EndedByRestore | null> {
  return await db.write(() => {
    if (db.get('SELECT 1 FROM outbound WHERE id = ?', id) !== undefined) return null;
    const now = clock.now();
    const messages = db.all(
      `UPDATE inbound INDEXED BY inbound_accepted SET state = 'refused', reason = '${REASON}', updated_at = ?
       WHERE state = 'accepted' RETURNING origin`,
      now,
    );
    const replies = db.run(
      `UPDATE outbound INDEXED BY outbound_open SET state = 'expired', reason = '${REASON}', updated_at = ?
       WHERE ${OPEN_OUTBOUND}`,
      now,
    );
    const untold = db.run('UPDATE outbound INDEXED BY outbound_untold SET owed = 0 WHERE owed > 0');
    const ended = {
      messages: messages.filter((row) => row.text('origin') === 'user').length,
      replies: replies + untold,
    };
    const told = notice(ended);
    if (told !== null) outbox.insert({ message: { ...told, id }, parts: [] });
    return ended;
  });
}
