import type { EntryOf, MessageEntry, TapeEntry } from '../../session/entry.ts';
import { stubOf, type History } from '../../session/history.ts';
import type { ModelMessage } from '../../providers/provider.ts';
import { IMAGE_TOKENS, tokensOfMessage } from './token-estimate.ts';

export interface TrimOptions {
  readonly history: History;
  /** Tokens of each message of the history. */
  readonly sizes: readonly number[];
  /** The session's window. */
  readonly entries: readonly TapeEntry[];
  /** Never dropped. */
  readonly currentTurn: string;
  /** Tokens that the history has to lose. */
  readonly excess: number;
}

/** What a trim entry says, and how much that saves. */
export interface TrimPlan extends Pick<EntryOf<'trim'>, 'stubUpTo' | 'imagesUpTo' | 'dropUpTo'> {
  /** Tokens. */
  readonly saves: number;
}

/** A message as the planner sees it. */
interface Item {
  /** Place of its entry in the window. */
  readonly at: number;
  /** Undefined for what closes a turn without an answer. */
  readonly entry: MessageEntry | undefined;
  readonly isCurrent: boolean;
  /** What is left of it, tokens. */
  size: number;
  /** How many of its images are left. */
  images: number;
}

/** About what the sentence in place of an image takes. */
const IMAGE_MARKER_TOKENS = 12;

/**
 * Decides what leaves the history, the cheapest loss first and the oldest of its kind first: old tool results become
 * stubs, old images markers, whole old turns leave, and only then results of the current turn become stubs, those the
 * model has not read yet excepted. Takes no more than needed. Null when there is nothing that could leave. A plan
 * never takes back what the trim in force left out.
 */
export function planTrim(options: TrimOptions): TrimPlan | null {
  const { history, entries, currentTurn, excess } = options;
  const items = itemsOf(options);
  const old = items.filter((item) => !item.isCurrent);
  const placeOf = (id: string | null | undefined): number =>
    typeof id === 'string' ? entries.findIndex((entry) => entry.id === id) : -1;
  const goal: Goal = { left: excess };

  let stubs = stubResults(old, goal, placeOf(history.trim?.stubUpTo));
  const images = markImages(old, goal, placeOf(history.trim?.imagesUpTo));
  const dropped = dropTurns(old, goal, turnEnds(entries, currentTurn));
  const unread = items.findLast((item) => item.isCurrent && item.entry?.role === 'assistant')?.at ?? -1;
  const read = items.filter((item) => item.isCurrent && item.at < unread);
  stubs = stubResults(read, goal, stubs);

  if (goal.left === excess) return null;
  const idAt = (place: number): string | null => (place > dropped ? (entries[place]?.id ?? null) : null);
  return {
    stubUpTo: idAt(stubs),
    imagesUpTo: idAt(images),
    dropUpTo: entries[dropped]?.id ?? null,
    saves: excess - goal.left,
  };
}

/** Tokens that still have to go. */
interface Goal {
  left: number;
}

/** By place on the tape. The summary is none of them: it stays. */
function itemsOf({ history, sizes, entries, currentTurn }: TrimOptions): readonly Item[] {
  const positions = new Map(entries.map((entry, at) => [entry.id, at]));
  return history.messages
    .flatMap(({ entryId, turn, message }, index): Item[] => {
      const at = positions.get(entryId);
      const entry = at === undefined ? undefined : entries[at];
      if (at === undefined || (entry?.kind !== 'message' && entry?.kind !== 'turn-end')) return [];
      const said = entry.kind === 'message' ? entry : undefined;
      return [{ at, entry: said, isCurrent: turn === currentTurn, size: sizes[index] ?? 0, images: imagesIn(message) }];
    })
    .toSorted((a, b) => a.at - b.at);
}

/** Takes off what an item loses; returns whether that was anything. */
function shrink(item: Item, to: number, goal: Goal): boolean {
  if (to >= item.size) return false;
  goal.left -= item.size - to;
  item.size = to;
  item.images = 0;
  return true;
}

function stubResults(items: readonly Item[], goal: Goal, from: number): number {
  let upTo = from;
  for (const item of items) {
    if (goal.left <= 0) break;
    const { entry } = item;
    if (item.at <= from || entry?.role !== 'tool') continue;
    const { callId, name, isError } = entry;
    const stub = tokensOfMessage({ role: 'tool', callId, name, isError, output: stubOf(entry) });
    if (shrink(item, stub, goal)) upTo = item.at;
  }
  return upTo;
}

function markImages(items: readonly Item[], goal: Goal, from: number): number {
  let upTo = from;
  for (const item of items) {
    if (goal.left <= 0) break;
    if (item.at <= from || item.images === 0) continue;
    if (shrink(item, item.size - item.images * (IMAGE_TOKENS - IMAGE_MARKER_TOKENS), goal)) upTo = item.at;
  }
  return upTo;
}

function dropTurns(items: readonly Item[], goal: Goal, ends: readonly number[]): number {
  let upTo = -1;
  let next = 0;
  for (const end of ends) {
    if (goal.left <= 0) break;
    let lost = 0;
    for (let item = items[next]; item !== undefined && item.at <= end; item = items[next]) {
      lost += item.size;
      next += 1;
    }
    if (lost === 0) continue;
    goal.left -= lost;
    upTo = end;
  }
  return upTo;
}

/** Places where a whole turn before the current one ends. */
function turnEnds(entries: readonly TapeEntry[], currentTurn: string): readonly number[] {
  const ends: number[] = [];
  for (const [at, entry] of entries.entries()) {
    if (entry.turn === currentTurn) break;
    if (entry.kind === 'turn-end') ends.push(at);
  }
  return ends;
}

function imagesIn(message: ModelMessage): number {
  if (message.role === 'tool') return (message.images ?? []).length;
  return message.role === 'user' ? message.content.filter((part) => part.type === 'image').length : 0;
}
