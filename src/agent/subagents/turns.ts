import type { InboundMessage } from '../../bus/messages.ts';
import type { EntryOf, EntryDraft, TapeEntry } from '../../session/entry.ts';
import type { Session } from '../../session/session.ts';
import type { StorePorts, TurnPorts } from '../ports.ts';
import { outcomeOf, resultMessage, type SubagentOutcome } from './outcome.ts';
import { resultOf, subagentOf } from './task.ts';
import { endedTurnsOnly } from '../../session/history.ts';

/** What a session is told of its subagents takes. */
type ReportPorts = Pick<TurnPorts, 'runtime' | 'people' | 'limits'>;

/** Before a turn begins: what an inheriting subagent starts from, and what one left for the session that asked. */
export async function prepareTurn(
  session: Session,
  { turnId, newest }: { readonly turnId: string; readonly newest: InboundMessage },
  { sessions }: Pick<StorePorts, 'sessions'>,
): Promise<void> {
  if (session.turn(turnId).length > 0) return;
  const task = subagentOf(newest);
  if (task?.inherit === true) await copyEnded(await sessions.open(task.session), session, task.turn);
  const result = resultOf(newest);
  if (result?.merge !== true) return;
  await mergeTurn(await sessions.open(result.session, { turn: result.turn }), result.turn, session);
}

/** When a turn has ended on its tape: the steps of those it waited for and that inherited from it become its session's. */
export async function mergeWaited(
  session: Session,
  turnId: string,
  { store, limits }: Pick<TurnPorts, 'store' | 'limits'>,
): Promise<void> {
  for (const child of store.journal.subagents.ofTurn(turnId)) {
    const task = subagentOf(child.message);
    if (task?.wait !== true || !task.inherit) continue;
    const from = await store.sessions.open(child.message.sessionKey, { turn: child.turnId });
    const end = from.turn(child.turnId).findLast((entry) => entry.kind === 'turn-end');
    if (end === undefined || outcomeOf(from, end, limits.maxIterations).status !== 'completed') continue;
    await mergeTurn(from, child.turnId, session);
  }
}

/** What the session that asked is told when a subagent's turn has ended on its tape; nothing when a call waits for it. */
export function bringsBack(
  session: Session,
  {
    turnId,
    asked,
    end,
  }: { readonly turnId: string; readonly asked: InboundMessage; readonly end: EntryOf<'turn-end'> },
  ports: ReportPorts,
): readonly InboundMessage[] {
  return messageToParent(asked, { turnId, outcome: outcomeOf(session, end, ports.limits.maxIterations) }, ports);
}

/** The same for a subagent that is given up. */
export function givesUp(
  asked: InboundMessage,
  { turnId, text }: { readonly turnId: string; readonly text: string },
  ports: ReportPorts,
): readonly InboundMessage[] {
  return messageToParent(
    asked,
    { turnId, outcome: { status: 'failed', text, untrusted: false, private: false } },
    ports,
  );
}

function messageToParent(
  asked: InboundMessage,
  { turnId, outcome }: { readonly turnId: string; readonly outcome: SubagentOutcome },
  { runtime, people, limits }: ReportPorts,
): readonly InboundMessage[] {
  const task = subagentOf(asked);
  if (task === null || task.wait) return [];
  const role = people.roleNow(asked);
  if (role === null) return [];
  const id = runtime.newId();
  const most = limits.toolResultChars;
  return [resultMessage(asked, task, { id, now: runtime.clock.now(), role, turn: turnId, outcome, most })];
}

/**
 * Puts a copy of what a session has said, as far as its turns had ended when the turn `before` began, at the beginning
 * of a tape. May be repeated: what is there already is not written again.
 */
async function copyEnded(from: Session, to: Session, before: string): Promise<void> {
  const entries = endedTurnsOnly(from.window).filter(
    ({ kind, turn }) => kind !== 'session' && (turn === null || turn < before),
  );
  await to.append(entries.map(asDraft));
}

/** Puts the steps of an ended turn of another tape onto this one, as one closed turn. May be repeated. */
async function mergeTurn(from: Session, turn: string, to: Session): Promise<void> {
  const steps = from.turn(turn);
  if (!steps.some(({ kind }) => kind === 'turn-end')) return;
  await to.append(steps.map(asDraft));
}

/** Its id stays, so that a second copy is none. */
function asDraft(entry: TapeEntry): EntryDraft {
  const { v: _v, at: _at, ...draft } = entry;
  return draft;
}
