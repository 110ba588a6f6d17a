import type { EntryDraft, TapeEntry } from '../../session/entry.ts';
import { endedTurnsOnly } from '../../session/history.ts';
import type { Session } from '../../session/session.ts';

/**
 * Puts a copy of what a session has said, as far as its turns had ended when the turn `before` began, at the beginning
 * of a tape. May be repeated: what is there already is not written again.
 */
export async function copyEnded(from: Session, to: Session, before: string): Promise<void> {
  const entries = endedTurnsOnly(from.window).filter(
    ({ kind, turn }) => kind !== 'session' && (turn === null || turn < before),
  );
  await to.append(entries.map(asDraft));
}

/** Puts the steps of an ended turn of another tape onto this one, as one closed turn. May be repeated. */
export async function mergeTurn(from: Session, turn: string, to: Session): Promise<void> {
  const steps = from.turn(turn);
  if (!steps.some(({ kind }) => kind === 'turn-end')) return;
  await to.append(steps.map(asDraft));
}

/** Its id stays, so that a second copy is none. */
function asDraft(entry: TapeEntry): EntryDraft {
  const { v: _v, at: _at, ...draft } = entry;
  return draft;
}
