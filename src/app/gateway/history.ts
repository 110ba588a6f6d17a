import type { App } from '../../core/app.ts';
import type { FeedOptions } from '../../core/gateway/feed/feed.ts';
import type { ServedHistory } from '../../core/gateway/http/history.ts';
import type { EntryPage, HistoryItem, HistoryPage, HistoryUsage } from '../../core/gateway/http/wire.ts';
import { isOlderTurn, type EntryOf, type TapeEntry } from '../../core/session/entry.ts';
import { itemsOf } from '../../core/session/items.ts';
import { hasTape, readTape } from '../../core/session/reader.ts';
import { AppError } from '../../core/util/errors.ts';
import { unknownSession } from '../../core/session/session-log.ts';
import { besideTape } from './watching.ts';
import { cut } from '../../core/util/text.ts';

const LONGEST_TEXT = 20_000;
const ENTRY_PAGE = 100_000;
/** A page ends with the turn in which it is full, unless that turn is longer than this many pages. */
const LONGEST_TURN = 4;
/** Characters that the end of a turn has with it. */
const MOST_LEFT = 200_000;

/** A page of a tape, and the time from which and up to which it has everything. */
interface TapePage extends Omit<HistoryPage, 'rows'> {
  readonly from: number;
  readonly to: number;
}

const ALWAYS = { from: 0, to: Number.MAX_SAFE_INTEGER };

/**
 * Reads the tapes of a home for the page, newest first, so that the end of a long conversation is there at once, and
 * what people read beside them.
 */
export function historyOf(app: App): ServedHistory & Pick<FeedOptions, 'left'> {
  const folder = app.paths.sessions;
  return {
    page: async (session, { before, after, limit }) => {
      if (!(await hasTape(folder, session))) {
        const rows = besideTape(app, session, ALWAYS);
        if (rows.length === 0) throw unknownSession(session);
        return { items: [], rows, more: false };
      }
      const { from, to, ...page } =
        after === undefined
          ? await pageBefore(folder, session, { before, limit })
          : await pageAfter(folder, session, { after, limit });
      return { ...page, rows: besideTape(app, session, { from, to }) };
    },
    entry: async (session, { entry, item, offset }) => {
      if (!(await hasTape(folder, session))) throw unknownSession(session);
      for await (const found of readTape(folder, session)) {
        if (found.id !== entry) continue;
        const items = historyItems(found);
        const one = item === undefined ? items[0] : items.find(({ id }) => id === item);
        if (one !== undefined) return textPage(one.text, offset);
      }
      throw new AppError('entry-unknown', 'There is no such entry in this conversation.');
    },
    left: async ({ sessionKey, turnId, result }) => {
      if (result.outcome === 'command') return [];
      // Who fetches the items is told what is wrong with the tape.
      const items = await itemsSince(folder, sessionKey, turnId).catch(() => undefined);
      const size = items?.reduce((sum, { text }) => sum + text.length, 0) ?? 0;
      return size > MOST_LEFT ? undefined : items;
    },
  };
}

function textPage(text: string, offset: number): EntryPage {
  const next = offset + ENTRY_PAGE;
  return { text: text.slice(offset, next), next: next < text.length ? next : null };
}

async function pageBefore(
  folder: string,
  session: string,
  { before, limit }: { readonly before: string | undefined; readonly limit: number },
): Promise<TapePage> {
  const reading = new Reading();
  let isAbove = before === undefined;
  let { to } = ALWAYS;
  const full = (): TapePage => {
    const items = reading.items();
    return { items, more: true, from: items[0]?.at ?? to, to };
  };
  for await (const entry of readTape(folder, session)) {
    if (!isAbove) {
      reading.skip(entry);
      isAbove = entry.id === before;
      if (isAbove) to = entry.at;
      continue;
    }
    if (reading.size >= limit * LONGEST_TURN) return full();
    reading.take(entry);
    if (reading.size >= limit && entry.kind === 'turn-start') return full();
  }
  return { items: reading.items(), more: false, from: ALWAYS.from, to };
}

async function pageAfter(
  folder: string,
  session: string,
  { after, limit }: { readonly after: string; readonly limit: number },
): Promise<TapePage> {
  const reading = new Reading();
  let { from } = ALWAYS;
  for await (const entry of readTape(folder, session)) {
    if (entry.id === after) {
      from = entry.at;
      break;
    }
    reading.take(entry);
    // What is dropped here is the newest, which the next page has.
    reading.keepOldest(limit * LONGEST_TURN);
  }
  const found = reading.items();
  const items = found.slice(0, limit);
  const more = reading.hasDropped || found.length > limit;
  return { items, more, from, to: more ? (items.at(-1)?.at ?? from) : ALWAYS.to };
}

/** The items of a turn, and the marks between it and the turn before. */
async function itemsSince(folder: string, session: string, turn: string): Promise<readonly HistoryItem[]> {
  const reading = new Reading();
  for await (const entry of readTape(folder, session)) {
    const isOwn = entry.turn === null || entry.turn === turn;
    if (isOwn) reading.take(entry);
    else if (entry.kind === 'turn-end' && isOlderTurn(entry.turn ?? '', turn)) break;
  }
  return reading.items();
}

/** Collects items from entries that come newest first. */
class Reading {
  readonly #takenBack = new Set<string>();
  /** Newest first. */
  #found: HistoryItem[] = [];
  /** The end of the turn whose entries come next, until its last item is found. */
  #end: EntryOf<'turn-end'> | undefined;
  /** By turn, the item that has its usage. */
  readonly #usages = new Map<string, { readonly item: string; readonly endedAt: number }>();
  hasDropped = false;

  get size(): number {
    return this.#found.length;
  }

  items(): readonly HistoryItem[] {
    return this.#found.toReversed();
  }

  /** Reads what an entry says of older ones only. */
  skip(entry: TapeEntry): void {
    if (entry.kind === 'retract') for (const turn of entry.turns) this.#takenBack.add(turn);
  }

  take(entry: TapeEntry): void {
    this.skip(entry);
    if (entry.kind === 'turn-end') this.#end = entry;
    if (entry.kind === 'turn-start') this.#began(entry);
    const isTakenBack = entry.turn !== null && this.#takenBack.has(entry.turn);
    for (const item of historyItems(entry).toReversed()) {
      const usage = this.#usageFor(item);
      this.#found.push({
        ...cutItem(item),
        ...(isTakenBack ? { isTakenBack: true as const } : {}),
        ...(usage === undefined ? {} : { usage }),
      });
    }
  }

  keepOldest(most: number): void {
    if (this.#found.length <= most * 2) return;
    this.#found = this.#found.slice(-most);
    this.hasDropped = true;
  }

  /** Of its turn, on the last item of it. */
  #usageFor(item: HistoryItem): HistoryUsage | undefined {
    const end = this.#end;
    if (end === undefined || end.turn === null || end.turn !== item.turn) return undefined;
    this.#end = undefined;
    this.#usages.set(end.turn, { item: item.id, endedAt: end.at });
    const { usage, costUsd, model } = end;
    return { input: usage.input, output: usage.output, costUsd, model, durationMs: null };
  }

  #began({ turn, at }: EntryOf<'turn-start'>): void {
    const known = turn === null ? undefined : this.#usages.get(turn);
    if (known === undefined) return;
    const index = this.#found.findLastIndex(({ id }) => id === known.item);
    const item = this.#found[index];
    if (item?.usage === undefined) return;
    this.#found[index] = { ...item, usage: { ...item.usage, durationMs: known.endedAt - at } };
  }
}

function cutItem(item: HistoryItem): HistoryItem {
  return item.text.length <= LONGEST_TEXT ? item : { ...item, text: cut(item.text, LONGEST_TEXT), cut: true };
}

/** What an entry means to people, in order, with whole texts. */
function historyItems(entry: TapeEntry): readonly HistoryItem[] {
  const { id, turn, at } = entry;
  return itemsOf(entry).map((item, n) => ({ id: `${id}.${n}`, entry: id, turn, at, ...item }));
}
