import type { App } from '../../app.ts';
import type { InboundMessage } from '../../bus/messages.ts';
import type { EntryOf, EntryDraft, TapeEntry } from '../../session/entry.ts';
import type { Session } from '../../session/session.ts';
import { outcomeOf, resultMessage, type SubagentOutcome } from './outcome.ts';
import { resultOf, subagentOf } from './task.ts';
import { endedTurnsOnly } from '../../session/history.ts';

/**
 * Call before a turn begins. Copies the conversation to a subagent that inherits it, or the steps of an inheriting
 * subagent to the session that spawned it.
 */
export async function prepareTurn(
  session: Session,
  { turnId, newest }: { readonly turnId: string; readonly newest: InboundMessage },
  { sessions }: App,
): Promise<void> {
  if (session.turn(turnId).length > 0) return;
  const task = subagentOf(newest);
  if (task?.inherit === true) await copyEnded(await sessions.open(task.session), session, task.turn);
  const result = resultOf(newest);
  if (result?.merge !== true) return;
  await mergeTurn(await sessions.open(result.session, { turn: result.turn }), result.turn, session);
}

/**
 * Call when a turn has ended on its tape: copies the steps of inheriting subagents that it waited for into its session.
 */
export async function mergeWaited(session: Session, turnId: string, app: App): Promise<void> {
  for (const child of app.journal.subagents.ofTurn(turnId)) {
    const task = subagentOf(child.message);
    if (task?.wait !== true || !task.inherit) continue;
    const from = await app.sessions.open(child.message.sessionKey, { turn: child.turnId });
    const end = from.turn(child.turnId).findLast((entry) => entry.kind === 'turn-end');
    if (end === undefined || outcomeOf(from, end, app.config.agent.maxIterations).status !== 'completed') continue;
    await mergeTurn(from, child.turnId, session);
  }
}

/** The message to the session that spawned a subagent, when its turn has ended on its tape; none when a call waits. */
export function resultMessages(
  session: Session,
  {
    turnId,
    asked,
    end,
  }: { readonly turnId: string; readonly asked: InboundMessage; readonly end: EntryOf<'turn-end'> },
  app: App,
): readonly InboundMessage[] {
  return messageToParent(asked, { turnId, outcome: outcomeOf(session, end, app.config.agent.maxIterations) }, app);
}

/** The same for a subagent that is given up. */
export function failureMessages(
  asked: InboundMessage,
  { turnId, text }: { readonly turnId: string; readonly text: string },
  app: App,
): readonly InboundMessage[] {
  return messageToParent(asked, { turnId, outcome: { status: 'failed', text, untrusted: false, private: false } }, app);
}

function messageToParent(
  asked: InboundMessage,
  { turnId, outcome }: { readonly turnId: string; readonly outcome: SubagentOutcome },
  { clock, newId, people, config }: App,
): readonly InboundMessage[] {
  const task = subagentOf(asked);
  if (task === null || task.wait) return [];
  const { channel, sender, chatType, chatId: chat } = asked;
  const role = people.roleNow({ channel, id: sender.id, chatType, chat }, asked.role);
  if (role === null) return [];
  const most = config.agent.toolResultChars;
  return [resultMessage(asked, task, { id: newId(), now: clock.now(), role, turn: turnId, outcome, most })];
}

/**
 * Copies the turns of a session that ended before the turn `before` began to the beginning of another tape. May be
 * repeated: entries that are there already are not written again.
 */
async function copyEnded(from: Session, to: Session, before: string): Promise<void> {
  const entries = endedTurnsOnly(from.window).filter(
    ({ kind, turn }) => kind !== 'session' && (turn === null || turn < before),
  );
  await to.append(entries.map(asDraft));
}

/** Copies the steps of an ended turn to another tape, as one closed turn. May be repeated. */
async function mergeTurn(from: Session, turn: string, to: Session): Promise<void> {
  const steps = from.turn(turn);
  if (!steps.some(({ kind }) => kind === 'turn-end')) return;
  await to.append(steps.map(asDraft));
}

/** The entry keeps its id, so that a second copy is ignored. */
function asDraft(entry: TapeEntry): EntryDraft {
  const { v: _v, at: _at, ...draft } = entry;
  return draft;
}
