import type { Session } from '../session/session.ts';

/** Messages of earlier turns that a turn which started itself is shown. */
const MOST_MESSAGES = 8;

/**
 * Before such a turn begins: whole old turns leave the history for good, until at most eight messages are left, so that
 * a session that is used every day stays cheap. The tape keeps them.
 */
export async function keepShort(session: Session, turnId: string): Promise<void> {
  if (session.turn(turnId).length > 0) return;
  const { window } = session;
  const places = new Map(window.map((entry, at) => [entry.id, at]));
  const messages = session.history().messages.map(({ entryId }) => places.get(entryId) ?? -1);
  if (messages.length <= MOST_MESSAGES) return;
  const ends = window.flatMap((entry, at) => (entry.kind === 'turn-end' ? [at] : []));
  const enough = ends.find((end) => messages.filter((at) => at > end).length <= MOST_MESSAGES) ?? ends.at(-1);
  const last = enough === undefined ? undefined : window[enough];
  if (last === undefined) return;
  await session.append([{ kind: 'trim', turn: null, stubUpTo: null, imagesUpTo: null, dropUpTo: last.id }]);
}
