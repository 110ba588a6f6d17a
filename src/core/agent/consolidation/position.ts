import type { Role } from '../../bus/messages.ts';
import type { ConsolidationRow, Consolidations } from '../../journal/consolidations.ts';
import {
  endedTurns,
  firstPart,
  readSpan,
  readSpanBefore,
  type SessionSpan,
  type TurnSpan,
  unconsolidated,
} from '../../memory/consolidation/session-span.ts';
import { asRole, weakest } from '../../security/access/access.ts';
import type { Session } from '../../session/session.ts';
import { readProgress, type ConsolidationProgress } from './record.ts';
import { turnSize, partLimit, type ConsolidationPart } from './question.ts';

/** Where the turns of a consolidation are on the tape now. */
export interface ConsolidationPosition {
  readonly span: SessionSpan;
  /** The ended turns of the span, up to the last one of the consolidation. */
  readonly turns: readonly TurnSpan[];
  /** Ids of the `turn-end`s of consolidated turns. */
  readonly consolidated: ReadonlySet<string>;
  /** Entries for HISTORY.md that are in no summary yet, oldest first. */
  readonly unsummarised: readonly string[];
}

/** How much older than its row a reset may look when a clock was set back, milliseconds. */
const CLOCK_SLACK_MS = 86_400_000;

/**
 * Finds the turns of a consolidation on the tape. `gone`: a reset or a later anchor removed them from the history, or
 * the reset that asked for the consolidation is not on the tape. `retracted`: a turn that was consolidated already was
 * retracted.
 */
export async function positionOf(
  row: ConsolidationRow,
  progress: ConsolidationProgress,
  { session, consolidations }: { readonly session: Session; readonly consolidations: Consolidations },
): Promise<ConsolidationPosition | 'gone' | 'retracted'> {
  const { upTo, reason } = row;
  const span =
    reason === 'new'
      ? await readSpanBefore(session, upTo ?? '', row.createdAt - CLOCK_SLACK_MS)
      : await readSpan(session);
  if (span === null) return 'gone';
  if (isRetracted(span, [...progress.turns, ...(progress.answer?.turns ?? [])])) return 'retracted';
  const all = endedTurns(span);
  const end = reason === 'new' ? all.length - 1 : all.findIndex((turn) => turn.end === upTo);
  if (end === -1 && upTo !== null && reason !== 'new') return 'gone';
  const turns = all.slice(0, end + 1);
  return { span, turns, ...consolidatedOf(session.key, turns, consolidations) };
}

/** Which of these turns are in memory already. */
export function consolidatedOf(
  sessionKey: string,
  turns: readonly TurnSpan[],
  consolidations: Consolidations,
): Pick<ConsolidationPosition, 'consolidated' | 'unsummarised'> {
  const ends = new Set(turns.map((turn) => turn.end));
  // With a question to the owner open, a row is not done, but its turns are in memory.
  const settled = consolidations.open(sessionKey).filter((row) => readProgress(row).settled);
  const done = [...settled, ...consolidations.done(sessionKey)]
    .toSorted((a, b) => (a.id < b.id ? 1 : -1))
    .map((row) => ({ upTo: row.upTo ?? '', progress: readProgress(row) }))
    .filter(({ upTo }) => ends.has(upTo));
  const newest = done.findIndex(({ progress }) => progress.anchored);
  const unsummarised = newest === -1 ? done : done.slice(0, newest);
  return {
    consolidated: new Set(done.map(({ upTo }) => upTo)),
    unsummarised: unsummarised.toReversed().flatMap(({ progress }) => progress.entries),
  };
}

/** The next turns that fit into one question; null when all turns are in memory. */
export function nextPart(
  row: ConsolidationRow,
  progress: ConsolidationProgress,
  { place, window }: { readonly place: ConsolidationPosition; readonly window: number },
): ConsolidationPart | null {
  const consolidated = new Set(place.consolidated);
  if (progress.doneTo !== null) consolidated.add(progress.doneTo);
  const left = unconsolidated(place.turns, consolidated);
  const note = progress.noted ? null : row.note;
  if (left.length === 0 && note === null) return null;
  const size = (turn: TurnSpan): number => turnSize(turn, window);
  const turns = firstPart(left, { copySizeOf: size, most: partLimit(window) });
  return partOf(row, turns, turns.length === left.length ? note : null);
}

/** The part whose answer is recorded but not written yet. */
export function answeredPart(
  row: ConsolidationRow,
  progress: ConsolidationProgress,
  place: ConsolidationPosition,
): ConsolidationPart {
  const ids = new Set(progress.answer?.turns);
  const turns = place.turns.filter((turn) => ids.has(turn.id));
  return partOf(row, turns, progress.answer?.noted === true ? row.note : null);
}

function partOf(row: ConsolidationRow, turns: readonly TurnSpan[], note: string | null): ConsolidationPart {
  const role: Role = weakest(asRole(row.role), ...turns.map((turn) => asRole(turn.role)));
  return { turns, note, role, own: row.direct && role === 'owner' };
}

function isRetracted({ entries }: SessionSpan, turns: readonly string[]): boolean {
  const retracted = new Set(entries.flatMap((entry) => (entry.kind === 'retract' ? entry.turns : [])));
  return turns.some((turn) => retracted.has(turn));
}
