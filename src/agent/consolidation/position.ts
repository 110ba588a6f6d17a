import type { Role } from '../../bus/messages.ts';
import type { ArchiveRow, Archives } from '../../journal/consolidations.ts';
import { firstPart, unarchived } from '../../memory/consolidation/chunking.ts';
import {
  endedTurns,
  readStretch,
  readStretchBefore,
  type Stretch,
  type TurnSpan,
} from '../../memory/consolidation/session-span.ts';
import { asRole, weakest } from '../../security/access/access.ts';
import type { Session } from '../../session/session.ts';
import { readProgress, type ArchiveProgress } from './progress.ts';
import { copySize, partLimit, type ArchivePart } from './question.ts';

/** Where the chunk of an archive lies now. */
export interface ArchivePlace {
  readonly stretch: Stretch;
  /** The ended turns of the stretch up to the end of the chunk. */
  readonly turns: readonly TurnSpan[];
  /** `turn-end`s up to which turns are archived. */
  readonly archived: ReadonlySet<string>;
  /** Archived entries that are in no summary yet, oldest first. */
  readonly unsummarised: readonly string[];
}

/** How much older than its row a reset may look when a clock was set back, milliseconds. */
const CLOCK_SLACK_MS = 86_400_000;

/**
 * `gone`: a reset or an anchor that reaches further took the chunk out of the history, or its reset never came onto the
 * tape. `retracted`: a turn that was archived already was taken back.
 */
export async function placeOf(
  row: ArchiveRow,
  progress: ArchiveProgress,
  { session, archives }: { readonly session: Session; readonly archives: Archives },
): Promise<ArchivePlace | 'gone' | 'retracted'> {
  const { upTo, reason } = row;
  const stretch =
    reason === 'new'
      ? await readStretchBefore(session, upTo ?? '', row.createdAt - CLOCK_SLACK_MS)
      : await readStretch(session);
  if (stretch === null) return 'gone';
  if (isRetracted(stretch, [...progress.turns, ...(progress.answer?.turns ?? [])])) return 'retracted';
  const all = endedTurns(stretch);
  const end = reason === 'new' ? all.length - 1 : all.findIndex((turn) => turn.end === upTo);
  if (end === -1 && upTo !== null && reason !== 'new') return 'gone';
  const turns = all.slice(0, end + 1);
  return { stretch, turns, ...archivedOf(session.key, turns, archives) };
}

/** What of these turns is in memory already. */
export function archivedOf(
  sessionKey: string,
  turns: readonly TurnSpan[],
  archives: Archives,
): Pick<ArchivePlace, 'archived' | 'unsummarised'> {
  const ends = new Set(turns.map((turn) => turn.end));
  // With a question to the owner open, a row is not done, but its turns are in memory.
  const settled = archives.open(sessionKey).filter((row) => readProgress(row).settled);
  const done = [...settled, ...archives.done(sessionKey)]
    .toSorted((a, b) => (a.id < b.id ? 1 : -1))
    .map((row) => ({ upTo: row.upTo ?? '', progress: readProgress(row) }))
    .filter(({ upTo }) => ends.has(upTo));
  const newest = done.findIndex(({ progress }) => progress.anchored);
  const unsummarised = newest === -1 ? done : done.slice(0, newest);
  return {
    archived: new Set(done.map(({ upTo }) => upTo)),
    unsummarised: unsummarised.toReversed().flatMap(({ progress }) => progress.entries),
  };
}

/** The next part of a chunk; null when all of it is in memory. */
export function nextPart(
  row: ArchiveRow,
  progress: ArchiveProgress,
  { place, window }: { readonly place: ArchivePlace; readonly window: number },
): ArchivePart | null {
  const archived = new Set(place.archived);
  if (progress.doneTo !== null) archived.add(progress.doneTo);
  const left = unarchived(place.turns, archived);
  const note = progress.noted ? null : row.note;
  if (left.length === 0 && note === null) return null;
  const size = (turn: TurnSpan): number => copySize(turn, window);
  const turns = firstPart(left, { copySizeOf: size, most: partLimit(window) });
  return partOf(row, turns, turns.length === left.length ? note : null);
}

/** The part that is answered already. */
export function answeredPart(row: ArchiveRow, progress: ArchiveProgress, place: ArchivePlace): ArchivePart {
  const ids = new Set(progress.answer?.turns);
  const turns = place.turns.filter((turn) => ids.has(turn.id));
  return partOf(row, turns, progress.answer?.noted === true ? row.note : null);
}

function partOf(row: ArchiveRow, turns: readonly TurnSpan[], note: string | null): ArchivePart {
  const role: Role = weakest(asRole(row.role), ...turns.map((turn) => asRole(turn.role)));
  return { turns, note, role, own: row.direct && role === 'owner' };
}

function isRetracted({ entries }: Stretch, turns: readonly string[]): boolean {
  const retracted = new Set(entries.flatMap((entry) => (entry.kind === 'retract' ? entry.turns : [])));
  return turns.some((turn) => retracted.has(turn));
}
