import { apiFactsOf } from '../bus/api.ts';
import { taintOfButton } from '../bus/buttons.ts';
import type { InboundMessage } from '../bus/messages.ts';
import { plural } from '../util/text.ts';
import { cancelQuestions } from './questions.ts';
import type { Outbox } from './outbox.ts';
import { namesOf, parseInbound, type JournalDatabase } from './rows.ts';

/** Whether a message is nothing but `/stop`, `/stop@bot` or `stop`, from a person who addresses the assistant, or the stop of a program. */
export function isStopRequest(message: InboundMessage): boolean {
  const { origin, mentioned, untrusted, text } = message;
  if (origin === 'api') return apiFactsOf(message)?.stop === true;
  if (untrusted || taintOfButton(message) !== null) return false;
  return origin === 'user' && mentioned && /^(?:[/／]stop(?:@\w+)?|stop)$/iu.test(text.trim());
}

/** The work of a session that a message ended. */
export interface EndedWork {
  /** Ids of turns that were marked as stopping and have to be aborted. */
  readonly turnIds: readonly string[];
  /** Waiting messages that were dropped. */
  readonly dropped: readonly InboundMessage[];
}

/** What a /stop ended. */
export interface Stopped extends EndedWork {
  readonly stop: InboundMessage;
  /** False: it was for one message, and other work of the session goes on. */
  readonly isWhole: boolean;
  readonly reply: string;
}

/**
 * Does, within the transaction that accepts a /stop: marks running turns of the session, of jobs for the chat, and their subagents as stopping, drops
 * older waiting messages, cancels answers that are not sent yet, and queues the reply that counts all of it. The inbox passes
 * the result to its listeners after the commit. `background`: the number of background commands that end with it. A program's
 * stop may be for one message: then only its turn with the subagents of that turn ends, or it is dropped if it waits.
 */
export function stopSession(journal: JournalDatabase, outbox: Outbox, stop: InboundMessage, background = 0): Stopped {
  const only = apiFactsOf(stop)?.only ?? null;
  const isWhole = only === null;
  const turnIds = endTurns(journal, stop, { background: isWhole, only, withJobs: isWhole });
  const tasks = isWhole
    ? dropTasks(journal, { session: stop.sessionKey }, 'stopped')
    : turnIds.flatMap((turn) => dropTasks(journal, { turn }, 'stopped'));
  const dropped = dropOlder(journal, stop, 'stopped', only);
  if (isWhole) cancelQuestions(journal, { session: stop.sessionKey });
  const unsent = isWhole ? outbox.cancelUnsent(stop.sessionKey, 'stopped') : 0;
  const counts = { turns: turnIds.length + tasks.length, dropped: dropped.length, unsent };
  const reply = stopReply({ ...counts, background: isWhole ? background : 0 });
  outbox.insert({
    message: {
      id: `${stop.id}:0`,
      channel: stop.channel,
      chatId: stop.chatId,
      ...(stop.threadId === undefined ? {} : { threadId: stop.threadId }),
      kind: 'notice',
      text: reply,
      // With a turn id it counts as a reply, so a person is told if it does not arrive.
      turnId: stop.id,
      media: [],
      expiresAt: journal.clock.now() + 24 * 3_600_000,
      metadata: {},
    },
    parts: [],
  });
  return { stop, isWhole, turnIds, dropped: [...dropped, ...tasks], reply };
}

/**
 * Marks, within the caller's transaction, the running turns of the session and of their subagents as stopping; with
 * `background` also subagents whose parent turn has ended, and with `withJobs` what jobs and the heartbeat do for the chat.
 * `only`: the external id of the message whose turn it is for. Returns the ids of the turns.
 */
export function endTurns(
  journal: JournalDatabase,
  message: InboundMessage,
  {
    background,
    only = null,
    withJobs = false,
  }: { readonly background: boolean; readonly only?: string | null; readonly withJobs?: boolean },
): readonly string[] {
  const { origins, db } = journal;
  const turnIds = db
    .all(
      `WITH RECURSIVE family (id) AS (
         SELECT id FROM turns WHERE session = ?1 AND state = 'running' AND outcome IS NULL AND NOT EXISTS (
           SELECT 1 FROM inbound WHERE turn_id = turns.id AND seq >= (SELECT seq FROM inbound WHERE id = ?2))
             AND (?4 IS NULL OR EXISTS (SELECT 1 FROM inbound WHERE turn_id = turns.id AND external_id = ?4))
         UNION SELECT turns.id FROM turns JOIN inbound ON inbound.turn_id = turns.id
           WHERE ?5 AND turns.state = 'running' AND inbound.origin IN ${namesOf(origins.all.filter(({ isAsked }) => isAsked !== true))}
             AND inbound.channel = ?6 AND inbound.chat = ?7 AND (?8 = 'owner' OR inbound.role = ?8)
         UNION SELECT child.id FROM turns AS child JOIN turns AS asked ON asked.id = child.parent
           WHERE ?3 AND child.state = 'running' AND asked.session = ?1
         UNION SELECT turns.id FROM turns JOIN family ON turns.parent = family.id WHERE turns.state = 'running')
       SELECT id FROM family`,
      message.sessionKey,
      message.id,
      background ? 1 : 0,
      only,
      withJobs ? 1 : 0,
      message.channel,
      message.chatId,
      message.role,
    )
    .map((row) => row.text('id'));
  markStopping(journal, turnIds);
  return turnIds;
}

/** Marks turns, within the caller's transaction, as stopping. Who runs them has to abort them. */
function markStopping(journal: JournalDatabase, turnIds: readonly string[]): void {
  const { db, clock } = journal;
  for (const id of turnIds) {
    db.run("UPDATE turns SET state = 'stopping', updated_at = ? WHERE id = ?", clock.now(), id);
    cancelQuestions(journal, { turn: id });
  }
}

/**
 * Ends, within the caller's transaction, what runs or waits for these messages: those that wait are refused, their turns and
 * the subagents of these are marked as stopping. Nothing ends if `by`, the turn that asks for it, is one of them. Returns the
 * ids of the turns.
 */
export function endWork(
  journal: JournalDatabase,
  ids: readonly string[],
  { by, reason }: { readonly by: string | null; readonly reason: string },
): readonly string[] {
  const { db, clock } = journal;
  const turnIds = db
    .all(
      `WITH RECURSIVE family (id) AS (
         SELECT turns.id FROM json_each(?) AS listed JOIN inbound ON inbound.id = listed.value
           JOIN turns ON turns.id = inbound.turn_id
           WHERE turns.state = 'running' AND turns.outcome IS NULL
         UNION SELECT turns.id FROM turns JOIN family ON turns.parent = family.id WHERE turns.state = 'running')
       SELECT id FROM family`,
      JSON.stringify(ids),
    )
    .map((row) => row.text('id'));
  if (by !== null && turnIds.includes(by)) return [];
  db.run(
    `UPDATE inbound SET state = 'refused', reason = ?, updated_at = ?
     WHERE state = 'accepted' AND id IN (SELECT value FROM json_each(?))`,
    reason,
    clock.now(),
    JSON.stringify(ids),
  );
  for (const turn of turnIds) dropTasks(journal, { turn }, 'stopped');
  markStopping(journal, turnIds);
  return turnIds;
}

/**
 * Drops, within the caller's transaction, the session's messages that waited before `message`, or of them `only` the one with
 * this external id. Returns them.
 */
export function dropOlder(
  { db, clock }: JournalDatabase,
  message: InboundMessage,
  reason: string,
  only: string | null = null,
): readonly InboundMessage[] {
  return db
    .all(
      `UPDATE inbound SET state = 'refused', reason = ?1, updated_at = ?2
       WHERE session = ?3 AND state = 'accepted' AND seq < (SELECT seq FROM inbound WHERE id = ?4)
         AND (?5 IS NULL OR external_id = ?5)
       RETURNING payload`,
      reason,
      clock.now(),
      message.sessionKey,
      message.id,
      only,
    )
    .map((row) => parseInbound(row.text('payload')));
}

/** Drops, within the caller's transaction, the waiting tasks that a session or a turn gave to subagents. Returns them. */
export function dropTasks(
  { db, clock }: JournalDatabase,
  of: { readonly session: string } | { readonly turn: string },
  reason: string,
): readonly InboundMessage[] {
  const [field, value] = 'session' in of ? ['session', of.session] : ['turn', of.turn];
  return db
    .all(
      `UPDATE inbound SET state = 'refused', reason = ?, updated_at = ?
       WHERE state = 'accepted' AND origin = 'subagent' AND json_extract(payload, '$.metadata.subagent.${field}') = ?
       RETURNING payload`,
      reason,
      clock.now(),
      value,
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
