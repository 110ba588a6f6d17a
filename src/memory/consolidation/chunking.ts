import { exchangesOf, type TurnExchange, type TurnSpan } from './session-span.ts';

export interface ChunkQuestion {
  /** The ended turns of the stretch, oldest first. */
  readonly turns: readonly TurnSpan[];
  /** Ids of the turn-ends up to which turns are archived already, though they are in the history. */
  readonly consolidated: ReadonlySet<string>;
  /** Tokens that a turn takes in the next request. */
  readonly sizeOf: (turn: TurnSpan) => number;
  /** Tokens that its copy takes in the question about it. */
  readonly copySizeOf: (turn: TurnSpan) => number;
  /** Tokens that have to leave the history. */
  readonly excess: number;
  /** Tokens of copies that fit into one question. */
  readonly most: number;
}

export interface Chunk {
  /** The `turn-end` that it goes up to. */
  readonly upTo: string;
  /** Tokens that the history loses. */
  readonly relief: number;
}

/** The newest exchanges that are never archived for size. */
const KEPT_EXCHANGES = 2;

/**
 * The oldest whole exchanges that have to leave for the excess to be gone, or as many of them as one question takes,
 * but at least one. Null when there is none that may leave.
 */
export function planChunk(question: ChunkQuestion): Chunk | null {
  const { turns, sizeOf, copySizeOf, excess, most } = question;
  const fresh = new Set(unconsolidated(turns, question.consolidated));
  let relief = 0;
  let copied = 0;
  let upTo: string | undefined;
  for (const exchange of movable(turns)) {
    if (upTo !== undefined && relief >= excess) break;
    const copy = sum(exchange.turns, (turn) => (fresh.has(turn) ? copySizeOf(turn) : 0));
    if (upTo !== undefined && copied + copy > most) break;
    copied += copy;
    relief += sum(exchange.turns, sizeOf);
    upTo = exchange.end;
  }
  return upTo === undefined ? null : { upTo, relief };
}

/** Tokens that could leave in all, up to the excess. */
export function possibleRelief({ turns, sizeOf, excess }: ChunkQuestion): number {
  return Math.min(
    excess,
    sum(movable(turns), (exchange) => sum(exchange.turns, sizeOf)),
  );
}

/** The `turn-end` before the newest exchanges; null when there is nothing before them. */
export function endBeforeNewest(turns: readonly TurnSpan[]): string | null {
  return movable(turns).at(-1)?.end ?? null;
}

/** The turns after the last one that is archived. */
export function unconsolidated(turns: readonly TurnSpan[], consolidated: ReadonlySet<string>): readonly TurnSpan[] {
  return turns.slice(turns.findLastIndex((turn) => consolidated.has(turn.end)) + 1);
}

/** As many of the first turns as fit into one question, but at least one. */
export function firstPart(
  turns: readonly TurnSpan[],
  { copySizeOf, most }: Pick<ChunkQuestion, 'copySizeOf' | 'most'>,
): readonly TurnSpan[] {
  let copied = 0;
  const end = turns.findIndex((turn, index) => {
    copied += copySizeOf(turn);
    return index > 0 && copied > most;
  });
  return end === -1 ? turns : turns.slice(0, end);
}

function movable(turns: readonly TurnSpan[]): readonly TurnExchange[] {
  return exchangesOf(turns).slice(0, -KEPT_EXCHANGES);
}

function sum<Item>(items: readonly Item[], size: (item: Item) => number): number {
  return items.reduce((total, item) => total + size(item), 0);
}
