import type { InboundMessage } from '../bus/messages.ts';
import type { Journal } from '../journal/journal.ts';
import type { Session } from '../session/session.ts';

/** The messages of a turn: those the journal knows, and those on its tape that it does not know yet. The tape is right. */
export async function adoptSources(
  turnId: string,
  messages: readonly InboundMessage[],
  { session, journal }: { session: Session; journal: Journal },
): Promise<readonly InboundMessage[]> {
  const known = new Set(messages.map((message) => message.id));
  const onTape = session
    .turn(turnId)
    .flatMap((entry) => (entry.kind === 'message' && entry.role === 'user' ? entry.sources : []))
    .filter((id) => !known.has(id));
  if (onTape.length === 0) return messages;
  await journal.turns.absorb(turnId, onTape);
  return [...messages, ...journal.inbox.byId(onTape)];
}
