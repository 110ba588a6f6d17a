import type { App } from '../../app.ts';
import {
  endedTurns,
  planChunk,
  possibleRelief,
  readSpan,
  type ChunkQuestion,
  type TurnSpan,
} from '../../memory/consolidation/session-span.ts';
import type { Session } from '../../session/session.ts';
import { RecentMap } from '../../util/recent-map.ts';
import { consolidatedOf } from './position.ts';
import { turnSize, partLimit } from './question.ts';
import { LEAST_SPACE, type ContextReport } from '../context/fit.ts';
import { tokensOfMessage } from '../context/token-estimate.ts';

/** A consolidation shortens the conversation to this share of the threshold, so that it is rare. */
const DOWN_TO = 0.5;
/** The conversation may stay longer than that by this share, because summaries take space too. */
const SLACK = 0.2;
/** Share of the conversation that a consolidation has to remove; else it is not worth a model call. */
const LEAST_GAIN = 0.2;
/** A session that could not shrink is left alone until its conversation grew by this share. */
const GROWTH = 0.1;
/**
 * Cap of the threshold, as a share of the space for the conversation: above it, requests would be trimmed before a
 * consolidation.
 */
const MOST_OF_SPACE = 0.85;

/** How full a session's context is, with the size of the conversation that is in no summary yet. */
export interface GrownReport extends ContextReport {
  /** Tokens of the conversation since its last summary: in the next request, or dropped from it by a trim. */
  readonly conversation: number;
}

/** Decides whether a session is consolidated, and up to which turn. */
export class SizePlanner {
  readonly #app: App;
  /** Session key → tokens of its conversation when a consolidation could not shorten it. */
  readonly #inVain = new RecentMap<string, number>(1024);

  constructor(app: App) {
    this.#app = app;
  }

  /** Reads the tape only when a trim dropped something. */
  async measure(session: Session, report: ContextReport): Promise<GrownReport> {
    const { boundary, messages } = session.history();
    if (boundary !== 'trim') return { ...report, conversation: report.history };
    const shown = new Set(messages.map(({ turn }) => turn));
    const dropped = endedTurns(await readSpan(session)).filter(({ id }) => !shown.has(id));
    const sizes = dropped.map((turn) => turnSize(turn, report.window));
    return { ...report, conversation: sizes.reduce((sum, size) => sum + size, report.history) };
  }

  /** Whether a session's conversation is so long that its older parts should be consolidated. */
  isDue(session: Session, report: GrownReport): boolean {
    const { conversation } = report;
    if (conversation <= this.#threshold(report)) return false;
    const before = this.#inVain.get(session.key);
    return before === undefined || conversation >= (1 + GROWTH) * before;
  }

  /** Whether another round is needed. */
  isLong(report: GrownReport): boolean {
    return report.conversation > (1 + SLACK) * DOWN_TO * this.#threshold(report);
  }

  /** Id of the `turn-end` up to which the next round consolidates; null when that would gain too little. */
  async plan(session: Session, report: GrownReport, gained = 0): Promise<string | null> {
    const { conversation, window } = report;
    const turns = endedTurns(await readSpan(session));
    const question: ChunkQuestion = {
      turns,
      consolidated: consolidatedOf(session.key, turns, this.#app.journal.consolidations).consolidated,
      sizeOf: sizes(session, report),
      copySizeOf: (turn) => turnSize(turn, window),
      excess: conversation - DOWN_TO * this.#threshold(report),
      most: partLimit(window),
    };
    if (gained + possibleRelief(question) < LEAST_GAIN * (conversation + gained)) return null;
    return planChunk(question)?.upTo ?? null;
  }

  /** After all rounds: notes a session that did not shrink, by the tokens of its conversation. True when it did. */
  review(session: Session, before: number, after: number): boolean {
    const shrank = after <= (1 - LEAST_GAIN) * before;
    if (shrank) this.#inVain.delete(session.key);
    else this.#inVain.set(session.key, after);
    return shrank;
  }

  /**
   * Tokens of conversation above which older parts are consolidated: the configured share of the window, but at most
   * what prompt, tools and answer leave of it. If they leave less than the supported minimum, the minimum counts, so
   * that there is not a consolidation after each turn.
   */
  #threshold({ space, window }: ContextReport): number {
    const { consolidateAt } = this.#app.config.memory;
    const usable = Math.max(MOST_OF_SPACE, consolidateAt) * Math.max(space, LEAST_SPACE);
    return Math.min(usable, consolidateAt * window);
  }
}

/** Tokens of each turn in the next request; of one that a trim dropped, those of its copy. */
function sizes(session: Session, { history, window }: ContextReport): (turn: TurnSpan) => number {
  const byTurn = new Map<string, number>();
  let total = 0;
  for (const { turn, message } of session.history().messages) {
    const size = tokensOfMessage(message);
    total += size;
    if (turn !== null) byTurn.set(turn, (byTurn.get(turn) ?? 0) + size);
  }
  const calibration = total === 0 ? 1 : history / total;
  return (turn) => {
    const size = byTurn.get(turn.id);
    return size === undefined ? turnSize(turn, window) : size * calibration;
  };
}
