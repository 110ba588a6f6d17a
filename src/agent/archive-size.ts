import type { Archives } from '../journal/archives.ts';
import { planChunk, possibleRelief, type ChunkQuestion } from '../memory/plan.ts';
import { endedTurns, readStretch, type TurnSpan } from '../memory/stretch.ts';
import type { Session } from '../session/session.ts';
import { RecentMap } from '../util/recent-map.ts';
import { archivedOf } from './archive-place.ts';
import { copySize, partLimit } from './archive-question.ts';
import type { ContextReport } from './context-window.ts';
import { tokensOfMessage } from './token-estimate.ts';

/** Down to this share of the threshold, so that consolidation is rare. */
const DOWN_TO = 0.5;
/** What is left after a round may be more than that by this share: summaries take room too. */
const SLACK = 0.2;
/** Of the request: what it has to lose, else it is not worth a model call. */
const LEAST_GAIN = 0.2;
/** A session that could not shrink is left alone until its request grew by this share. */
const GROWTH = 0.1;

/** Decides whether and up to where a session that grew is archived. */
export class SizePlanner {
  readonly #archives: Archives;
  /** `memory.consolidateAt`: a share of the window. */
  readonly #at: number;
  /** Tokens at which a session was tried in vain. */
  readonly #inVain = new RecentMap<string, number>(1024);

  constructor(options: { readonly archives: Archives; readonly consolidateAt: number }) {
    this.#archives = options.archives;
    this.#at = options.consolidateAt;
  }

  /** Whether a session's next request is so long that older parts are to be archived. */
  isDue(session: Session, { used, window }: ContextReport): boolean {
    if (used <= this.#at * window) return false;
    const before = this.#inVain.get(session.key);
    return before === undefined || used >= (1 + GROWTH) * before;
  }

  /** Whether another round is needed. */
  isLong({ used, window }: ContextReport): boolean {
    return used > (1 + SLACK) * DOWN_TO * this.#at * window;
  }

  /** The `turn-end` up to which the next round archives; null when that would gain too little. */
  async plan(session: Session, report: ContextReport, gained = 0): Promise<string | null> {
    const { used, window } = report;
    const turns = endedTurns(await readStretch(session));
    const question: ChunkQuestion = {
      turns,
      archived: archivedOf(session.key, turns, this.#archives).archived,
      sizeOf: sizes(session, report),
      copySizeOf: (turn) => copySize(turn, window),
      excess: used - DOWN_TO * this.#at * window,
      most: partLimit(window),
    };
    if (gained + possibleRelief(question) < LEAST_GAIN * (used + gained)) return null;
    return planChunk(question)?.upTo ?? null;
  }

  /** After all rounds: notes a session that did not shrink. True when it did. */
  review(session: Session, before: number, after: number): boolean {
    const shrank = after <= (1 - LEAST_GAIN) * before;
    if (shrank) this.#inVain.delete(session.key);
    else this.#inVain.set(session.key, after);
    return shrank;
  }
}

/** Tokens of each turn in the next request. */
function sizes(session: Session, { history }: ContextReport): (turn: TurnSpan) => number {
  const byTurn = new Map<string, number>();
  let total = 0;
  for (const { turn, message } of session.history().messages) {
    const size = tokensOfMessage(message);
    total += size;
    if (turn !== null) byTurn.set(turn, (byTurn.get(turn) ?? 0) + size);
  }
  const calibration = total === 0 ? 1 : history / total;
  return (turn) => (byTurn.get(turn.id) ?? 0) * calibration;
}
