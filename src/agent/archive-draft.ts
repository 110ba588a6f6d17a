import type { ArchiveDraft, Archives } from '../journal/archives.ts';
import { unarchived } from '../memory/plan.ts';
import { endedTurns, readStretch, type TurnSpan } from '../memory/stretch.ts';
import { asRole, weakest } from '../security/access.ts';
import type { Session } from '../session/session.ts';
import { archivedOf } from './archive-place.ts';

/** The ended turns of a session's stretch, and those of them that are not archived yet. */
export async function freshTurns(
  session: Session,
  archives: Archives,
): Promise<{ readonly turns: readonly TurnSpan[]; readonly fresh: readonly TurnSpan[] }> {
  const turns = endedTurns(await readStretch(session));
  return { turns, fresh: unarchived(turns, archivedOf(session.key, turns, archives).archived) };
}

/** An archive of these turns; whose chat it is follows from the newest message. */
export function draftOf(
  { archives, newId }: { readonly archives: Archives; readonly newId: () => string },
  session: string,
  reason: ArchiveDraft['reason'],
  {
    turns = [],
    upTo,
    note = null,
  }: { readonly turns?: readonly TurnSpan[]; readonly upTo: string | null; readonly note?: string | null },
): ArchiveDraft {
  const last = archives.lastMessage(session);
  const role = weakest(...turns.map((turn) => asRole(turn.role)), ...(last === undefined ? [] : [last.role]));
  return { id: newId(), session, reason, role, direct: last?.chatType === 'direct', upTo, note };
}
