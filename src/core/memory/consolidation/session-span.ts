import { isByPeople, type EntryOf, type TapeEntry } from '../../session/entry.ts';
import { isSuspected, partsByEntry, refusedIn, withoutRefused } from '../../session/refused-content.ts';
import { type Summary, WindowScan } from '../../session/history-window.ts';

/** What is read of a session. */
export interface TapeView {
  readonly window: readonly TapeEntry[];
  /** Everything on its tape, newest first. */
  backwards(): AsyncIterable<TapeEntry>;
}

/** What of a conversation no reset and no anchor has put behind it. What a trim dropped is still in it. */
export interface SessionSpan {
  /** Oldest first. */
  readonly entries: readonly TapeEntry[];
  /** Stands for what is before. */
  readonly summary: Summary | null;
}

/** An ended turn. */
export interface TurnSpan {
  readonly id: string;
  /** Its `turn-end`. */
  readonly end: string;
  /** When it ended, milliseconds since 1970. */
  readonly at: number;
  /** As it was when the turn began; a guest's when the tape does not say. */
  readonly role: string;
  /** A person began it. */
  readonly isUser: boolean;
  readonly untrusted: boolean;
  readonly private: boolean;
  readonly entries: readonly TapeEntry[];
}

/** A turn that a person began and those after it that no one did. History is cut only between these. */
export interface TurnExchange {
  readonly end: string;
  readonly turns: readonly TurnSpan[];
}

/** Most entries of an unconsolidated tape that are held in memory. */
const MOST_ENTRIES = 50_000;

/** The span that a session is in. Reads the tape only when a trim dropped something of it. */
export async function readSpan(session: TapeView): Promise<SessionSpan> {
  const scan = new WindowScan();
  for (const entry of session.window.toReversed()) if (!scan.take(entry)) break;
  const window = scan.finish();
  if (window.boundary !== 'trim') return { entries: window.entries.slice(window.from), summary: window.summary };
  return (await scanTape(session, null)) ?? { entries: [], summary: null };
}

/**
 * The span that a reset ended. Null when the reset is not on the tape; what is older than `since`, milliseconds
 * since 1970, is not looked at for it.
 */
export function readSpanBefore(session: TapeView, resetId: string, since: number): Promise<SessionSpan | null> {
  return scanTape(session, { resetId, since });
}

async function scanTape(
  session: TapeView,
  before: { readonly resetId: string; readonly since: number } | null,
): Promise<SessionSpan | null> {
  const scan = new WindowScan();
  let inside = before === null;
  let taken = 0;
  for await (const entry of session.backwards()) {
    if (before !== null && !inside) {
      if (entry.id === before.resetId) inside = true;
      else if (entry.at < before.since) return null;
      continue;
    }
    if (entry.kind === 'trim') continue;
    taken += 1;
    if (!scan.take(entry) || taken >= MOST_ENTRIES) break;
  }
  if (!inside) return null;
  const { entries, from, summary } = scan.finish();
  return { entries: entries.slice(from), summary };
}

/** The ended turns of a span that were not taken back, in order, without what a provider is known to refuse. */
export function endedTurns({ entries }: Pick<SessionSpan, 'entries'>): readonly TurnSpan[] {
  const retracted = new Set(entries.flatMap((entry) => (entry.kind === 'retract' ? entry.turns : [])));
  const refused = partsByEntry(refusedIn(entries).filter((one) => !isSuspected(one)));
  const byTurn = new Map<string, TapeEntry[]>();
  for (const stored of entries) {
    const entry = withoutRefused(stored, refused);
    if (entry.turn === null || retracted.has(entry.turn)) continue;
    const known = byTurn.get(entry.turn);
    if (known === undefined) byTurn.set(entry.turn, [entry]);
    else known.push(entry);
  }
  return [...byTurn].flatMap(([id, own]) => {
    const end = own.findLast((entry) => entry.kind === 'turn-end');
    if (end === undefined) return [];
    const start = own.find((entry): entry is EntryOf<'turn-start'> => entry.kind === 'turn-start');
    return [
      {
        id,
        end: end.id,
        at: end.at,
        role: start?.role ?? 'guest',
        isUser: start === undefined || isByPeople(start.origin),
        untrusted: own.some((entry) => entry.untrusted === true),
        private: own.some((entry) => entry.private === true),
        entries: own,
      },
    ];
  });
}

/** Groups turns. As long as no person has spoken each turn is by itself, so that it can be consolidated. */
export function exchangesOf(turns: readonly TurnSpan[]): readonly TurnExchange[] {
  const groups: TurnSpan[][] = [];
  for (const turn of turns) {
    const last = groups.at(-1);
    if (last === undefined || turn.isUser || last[0]?.isUser !== true) groups.push([turn]);
    else last.push(turn);
  }
  return groups.map((group) => ({ end: group.at(-1)?.end ?? '', turns: group }));
}

export interface ChunkQuestion {
  /** The ended turns of the span, oldest first. */
  readonly turns: readonly TurnSpan[];
  /** Ids of turn-ends up to which turns are consolidated already, although they are still in the history. */
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

/** Number of newest exchanges that are never consolidated because of size. */
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

/** The turns after the last consolidated one. */
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
