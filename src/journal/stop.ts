import type { InboundMessage } from '../bus/messages.ts';
import { plural } from '../util/text.ts';
import type { Outbox } from './outbox.ts';
import { parseInbound, type LedgerPorts } from './rows.ts';

/** Only the whole message stops: `/stop`, `/stop@bot` or `stop`, said by a person who speaks to the assistant. */
export function isStopRequest(message: InboundMessage): boolean {
  return message.origin === 'user' && message.mentioned && /^(?:\/stop(?:@\w+)?|stop)$/iu.test(message.text.trim());
}

/** What a /stop ended. */
export interface Stopped {
  readonly stop: InboundMessage;
  /** Turns to signal. */
  readonly turnIds: readonly string[];
  /** Waiting messages that will get no turn. */
  readonly dropped: readonly InboundMessage[];
  readonly reply: string;
}

/**
 * Inside the transaction that accepts a /stop: running turns of the session and their children are marked, older
 * waiting messages are refused, answers nobody was sent yet are cancelled, and the reply that counts all that is
 * queued. What it returns is told to the agent after the commit.
 */
export function stopSession(ports: LedgerPorts & { readonly outbox: Outbox }, stop: InboundMessage): Stopped {
  const { db, clock, outbox } = ports;
  const now = clock.now();
  const turnIds = db
    .all(
      `WITH RECURSIVE family (id) AS (
         SELECT id FROM turns WHERE session = ? AND state = 'running'
         UNION SELECT turns.id FROM turns JOIN family ON turns.parent = family.id WHERE turns.state = 'running')
       SELECT id FROM family`,
      stop.sessionKey,
    )
    .map((row) => row.text('id'));
  for (const id of turnIds) {
    db.run("UPDATE turns SET state = 'stopping', updated_at = ? WHERE id = ?", now, id);
    outbox.cancelUnsent(id, 'stopped');
  }
  const dropped = db
    .all(
      `UPDATE inbound SET state = 'refused', reason = 'stopped', updated_at = ?
       WHERE session = ? AND state = 'accepted' AND seq < (SELECT seq FROM inbound WHERE id = ?)
       RETURNING payload`,
      now,
      stop.sessionKey,
      stop.id,
    )
    .map((row) => parseInbound(row.text('payload')));
  const reply = stopReply(turnIds.length, dropped.length);
  outbox.insert({
    message: {
      id: `${stop.id}:0`,
      channel: stop.channel,
      chatId: stop.chatId,
      ...(stop.threadId === undefined ? {} : { threadId: stop.threadId }),
      kind: 'notice',
      text: reply,
      media: [],
      expiresAt: now + 24 * 3_600_000,
      metadata: {},
    },
    parts: [],
  });
  return { stop, turnIds, dropped, reply };
}

function stopReply(turns: number, dropped: number): string {
  if (turns === 0 && dropped === 0) return 'Nothing is running here.';
  const stopped = turns === 0 ? 'Nothing was running' : turns === 1 ? 'Stopped' : `Stopped ${plural(turns, 'task')}`;
  return dropped === 0 ? `${stopped}.` : `${stopped}; dropped ${plural(dropped, 'waiting message')}.`;
}
