import type { EntryOf, MessageEntry, TapeEntry } from '../../session/entry.ts';
import { stubOf, type History } from '../../session/history.ts';
import type { ModelMessage } from '../../providers/provider.ts';
import { IMAGE_TOKENS, tokensOfMessage } from './token-estimate.ts';

export interface TrimOptions {
  readonly history: History;
  /** Tokens of each message of the history. */
  readonly sizes: readonly number[];
  /** The entries of the session's window. */
  readonly entries: readonly TapeEntry[];
  /** Id of the turn that is never dropped. */
  readonly currentTurn: string;
  /** Tokens that the history has to lose. */
  readonly excess: number;
}

/** The content of a trim entry, and how much it saves. */
export interface TrimPlan extends Pick<EntryOf<'trim'>, 'stubUpTo' | 'imagesUpTo' | 'dropUpTo'> {
  /** Tokens. */
  readonly saves: number;
}

/** A message of the history while the trim is planned. */
interface Item {
  /** Index of its entry in the window. */
  readonly at: number;
  /** Undefined for the message that stands for a turn without an answer. */
  readonly entry: MessageEntry | undefined;
  readonly isCurrent: boolean;
  /** Tokens that are left of it. */
  size: number;
  /** How many of its images are left. */
  images: number;
}

/** Estimated tokens of the sentence that replaces an image. */
const IMAGE_MARKER_TOKENS = 12;

/**
 * Plans what leaves the history, least loss first and oldest first: old tool results become stubs, then old images
 * become markers, then whole old turns are dropped, and last, results of the current turn that the model has read
 * become stubs. Trims no more than needed, and never brings back what an earlier trim left out. Null when nothing can
 * be trimmed.
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

/** Tokens that still have to be saved. */
interface Goal {
  left: number;
}

/** The messages in the order of the tape, without the summary, which always stays. */
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

/** Reduces an item to `to` tokens; false if it is that small already. */
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

/** Indexes at which the turns before the current one end. */
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
