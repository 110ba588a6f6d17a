import { batch, signal, type Signal } from '@preact/signals';
import type { HistoryItem, HistoryPage, Row } from '../../core/gateway/http/wire.ts';
import { ask, isOffline, sentenceOf } from '../net/http.ts';
import { chatOf } from './place.ts';

/** The conversation that is open. */
export interface Conversation {
  /** Such as `web:main`. */
  readonly session: string;
  /** What is loaded of its history, oldest first. */
  readonly items: Signal<readonly HistoryItem[]>;
  /** Messages that are not in the history, such as notices, files and commands, and those that came since; oldest first. */
  readonly rows: Signal<readonly Row[]>;
  readonly state: Signal<'loading' | 'ready' | 'failed'>;
  /** Why it could not be loaded. */
  readonly problem: Signal<string>;
  /** There is more before what is loaded, or after it. */
  readonly hasOlder: Signal<boolean>;
  readonly hasNewer: Signal<boolean>;
}

const PAGE = 50;
/** A part that takes longer is given up, so that the next can be loaded. */
const LOAD_MS = 30_000;
/** What is kept on the page at once. */
const MOST_ITEMS = 600;
const MOST_ROWS = 1_000;

export function newConversation(session: string): Conversation {
  return {
    session,
    items: signal([]),
    rows: signal([]),
    state: signal('loading'),
    problem: signal(''),
    hasOlder: signal(false),
    hasNewer: signal(false),
  };
}

/** What loads a part of a conversation, the last of each: one after the other, so that none adds to what another replaces. */
const loads = new WeakMap<Conversation, Promise<void>>();

async function afterOthers(open: Conversation, load: () => Promise<void>): Promise<void> {
  const mine = (loads.get(open) ?? Promise.resolve()).then(load);
  loads.set(
    open,
    mine.catch(() => {}),
  );
  await mine;
}

/** Loads the newest part in place of what was loaded. */
export async function loadNewest(open: Conversation): Promise<void> {
  await afterOthers(open, async () => await newest(open));
}

async function newest(open: Conversation): Promise<void> {
  try {
    const { items, rows, more } = await fetchPage(open, {});
    batch(() => {
      open.items.value = items;
      open.hasOlder.value = more;
      open.hasNewer.value = false;
      open.state.value = 'ready';
      addRows(open, rows);
    });
  } catch (error) {
    fail(open, error);
  }
}

/** Loads what came before; what is then too much leaves at the end. */
export async function loadOlder(open: Conversation): Promise<void> {
  await afterOthers(open, async () => await older(open));
}

async function older(open: Conversation): Promise<void> {
  const first = open.items.value[0];
  if (first === undefined || !open.hasOlder.value) return;
  const { items, rows, more } = await fetchPage(open, { before: first.entry });
  batch(() => {
    const all = [...items, ...open.items.value];
    open.items.value = all.slice(0, MOST_ITEMS);
    open.hasOlder.value = more;
    if (all.length > MOST_ITEMS) open.hasNewer.value = true;
    addRows(open, rows);
  });
}

/** Loads what came since; while another part is being loaded, after it, since that may have been read too early. */
export async function loadNewer(open: Conversation): Promise<void> {
  await afterOthers(open, async () => await newer(open));
}

async function newer(open: Conversation): Promise<void> {
  if (open.hasNewer.value) return;
  const last = open.items.value.at(-1);
  if (last === undefined || open.state.value !== 'ready') return await newest(open);
  try {
    // A page at a time; more than this many came only to those who were away.
    for (let pages = 0; pages < 4; pages += 1) {
      const from = open.items.value.at(-1)?.entry ?? last.entry;
      const { items, rows, more } = await fetchPage(open, { after: from });
      addItems(open, items);
      addRows(open, rows);
      if (!more) return;
    }
    await newest(open);
  } catch (error) {
    fail(open, error);
  }
}

/** Adds rows, or replaces what was known of them. */
export function takeRows(open: Conversation, rows: readonly Row[]): void {
  addRows(
    open,
    rows.filter(({ session }) => session === open.session),
  );
}

/** Adds what a turn left, after what is being loaded, which may have been read too early. */
export async function takeLeft(open: Conversation, items: readonly HistoryItem[]): Promise<void> {
  await afterOthers(open, async () => {
    if (open.state.value !== 'ready') await newest(open);
    else if (!open.hasNewer.value) addItems(open, items);
  });
}

function addItems(open: Conversation, items: readonly HistoryItem[]): void {
  const known = new Set(open.items.value.map(({ id }) => id));
  const fresh = items.filter(({ id }) => !known.has(id));
  if (fresh.length > 0) open.items.value = [...open.items.value, ...fresh].slice(-MOST_ITEMS);
}

/** The messages of the time that is loaded. */
export function shownRows(open: Conversation): readonly Row[] {
  const items = open.items.value;
  const from = open.hasOlder.value ? (items[0]?.at ?? 0) : 0;
  const to = open.hasNewer.value ? (items.at(-1)?.at ?? 0) : Infinity;
  return open.rows.value.filter(({ at }) => at >= from && at <= to);
}

function addRows(open: Conversation, rows: readonly Row[]): void {
  if (rows.length === 0) return;
  const known = new Map(open.rows.value.map((row) => [row.id, row]));
  for (const row of rows) known.set(row.id, row);
  open.rows.value = [...known.values()].toSorted((a, b) => a.at - b.at);
  // What is not shown is fetched again with its part of the history.
  if (known.size > MOST_ROWS) open.rows.value = shownRows(open).slice(-MOST_ROWS);
}

async function fetchPage(
  { session }: Conversation,
  where: { readonly before?: string; readonly after?: string },
): Promise<HistoryPage> {
  // A conversation of the page begins with its first message.
  const mayBeNew: Record<string, string> = chatOf(session) === undefined ? {} : { new: 'yes' };
  const query = new URLSearchParams({ ...where, ...mayBeNew, limit: String(PAGE) });
  const path = `/api/sessions/${encodeURIComponent(session)}/history?${query}`;
  return await ask<HistoryPage>(path, { signal: AbortSignal.timeout(LOAD_MS) });
}

function fail(open: Conversation, error: unknown): void {
  // What is shown stays; the page loads it when the connection is back.
  if (isOffline(error) && open.state.value === 'ready') return;
  open.problem.value = sentenceOf(error);
  open.state.value = 'failed';
}
