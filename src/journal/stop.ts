import { heldAtButton } from '../bus/buttons.ts';
import type { InboundMessage } from '../bus/messages.ts';
import { plural } from '../util/text.ts';
import { cancelQuestions } from './questions.ts';
import type { Outbox } from './outbox.ts';
import { parseInbound, type JournalPorts } from './rows.ts';

type StopPorts = JournalPorts & { readonly outbox: Outbox };

/** Only the whole message stops: `/stop`, `/stop@bot` or `stop`, said by a person who speaks to the assistant. */
export function isStopRequest(message: InboundMessage): boolean {
  const { origin, mentioned, untrusted, text } = message;
  if (untrusted || heldAtButton(message) !== null) return false;
  return origin === 'user' && mentioned && /^(?:[/／]stop(?:@\w+)?|stop)$/iu.test(text.trim());
}

/** What a message ended that a session was doing. */
export interface Ended {
  /** Turns to signal. */
  readonly turnIds: readonly string[];
  /** Waiting messages that will get no turn. */
  readonly dropped: readonly InboundMessage[];
}

/** What a /stop ended. */
export interface Stopped extends Ended {
  readonly stop: InboundMessage;
  readonly reply: string;
}

/**
 * Inside the transaction that accepts a /stop: running turns of the session and their children are marked, older
 * waiting messages are refused, answers nobody was sent yet are cancelled, and the reply that counts all that is
 * queued. What it returns is told to the agent after the commit. `background`: commands that end with it.
 */
export function stopSession(ports: StopPorts, stop: InboundMessage, background = 0): Stopped {
  const turnIds = endTurns(ports, stop, { background: true });
  const tasks = dropTasks(ports, stop.sessionKey, 'stopped');
  const dropped = dropOlder(ports, stop, 'stopped');
  cancelQuestions(ports, { session: stop.sessionKey });
  const unsent = ports.outbox.cancelUnsent(stop.sessionKey, 'stopped');
  const reply = stopReply({ turns: turnIds.length + tasks.length, background, dropped: dropped.length, unsent });
  ports.outbox.insert({
    message: {
      id: `${stop.id}:0`,
      channel: stop.channel,
      chatId: stop.chatId,
      ...(stop.threadId === undefined ? {} : { threadId: stop.threadId }),
      kind: 'notice',
      text: reply,
      // As of every reply, so that it is owed when it is lost.
      turnId: stop.id,
      media: [],
      expiresAt: ports.clock.now() + 24 * 3_600_000,
      metadata: {},
    },
    parts: [],
  });
  return { stop, turnIds, dropped: [...dropped, ...tasks], reply };
}

/**
 * Part of a transaction of the caller's: marks the session's turns, and their children, that began before `message`;
 * with `background` also children whose parent has ended.
 */
export function endTurns(
  ports: JournalPorts,
  message: InboundMessage,
  { background }: { readonly background: boolean },
): readonly string[] {
  const { db, clock } = ports;
  const turnIds = db
    .all(
      `WITH RECURSIVE family (id) AS (
         SELECT id FROM turns WHERE session = ?1 AND state = 'running' AND outcome IS NULL AND NOT EXISTS (
           SELECT 1 FROM inbound WHERE turn_id = turns.id AND seq >= (SELECT seq FROM inbound WHERE id = ?2))
         UNION SELECT child.id FROM turns AS child JOIN turns AS asked ON asked.id = child.parent
           WHERE ?3 AND child.state = 'running' AND asked.session = ?1
         UNION SELECT turns.id FROM turns JOIN family ON turns.parent = family.id WHERE turns.state = 'running')
       SELECT id FROM family`,
      message.sessionKey,
      message.id,
      background ? 1 : 0,
    )
    .map((row) => row.text('id'));
  for (const id of turnIds) {
    db.run("UPDATE turns SET state = 'stopping', updated_at = ? WHERE id = ?", clock.now(), id);
    cancelQuestions(ports, { turn: id });
  }
  return turnIds;
}

/** Part of a transaction of the caller's: the session's messages that waited before `message` get no turn. */
export function dropOlder(
  { db, clock }: JournalPorts,
  message: InboundMessage,
  reason: string,
): readonly InboundMessage[] {
  return db
    .all(
      `UPDATE inbound SET state = 'refused', reason = ?, updated_at = ?
       WHERE session = ? AND state = 'accepted' AND seq < (SELECT seq FROM inbound WHERE id = ?)
       RETURNING payload`,
      reason,
      clock.now(),
      message.sessionKey,
      message.id,
    )
    .map((row) => parseInbound(row.text('payload')));
}

/** Part of a transaction of the caller's: tasks that a session gave to subagents and that wait get no turn. */
export function dropTasks({ db, clock }: JournalPorts, session: string, reason: string): readonly InboundMessage[] {
  return db
    .all(
      `UPDATE inbound SET state = 'refused', reason = ?, updated_at = ?
       WHERE state = 'accepted' AND origin = 'subagent' AND json_extract(payload, '$.metadata.subagent.session') = ?
       RETURNING payload`,
      reason,
      clock.now(),
      session,
    )
    .map((row) => parseInbound(row.text('payload')));
}

function stopReply(ended: Record<'turns' | 'background' | 'dropped' | 'unsent', number>): string {
  const { turns, background, dropped, unsent } = ended;
  if (Object.values(ended).every((count) => count === 0)) return 'Nothing is running here.';
  const commands = plural(background, 'command in the background', 'commands in the background');
  const stopped = turns > 1 ? `Stopped ${plural(turns, 'task')}` : turns === 1 ? 'Stopped' : 'Nothing was running';
  const both = background === 0 ? stopped : turns === 0 ? `Ended ${commands}` : `${stopped}; ended ${commands}`;
  const waiting = dropped === 0 ? '' : `; dropped ${plural(dropped, 'waiting message')}`;
  const answers = unsent === 0 ? '' : `; held back ${plural(unsent, 'reply', 'replies')} not sent yet`;
  return `${both}${waiting}${answers}.`;
}
