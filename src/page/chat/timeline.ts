import type { HistoryItem, HistoryUsage, Row, WireMedia } from '../../core/gateway/http/wire.ts';
import type { Unsent } from '../state/unsent.ts';

/** One thing that a conversation shows. */
export type Entry = { readonly key: string; readonly at: number; readonly isTakenBack?: boolean } & (
  | {
      readonly kind: 'user';
      readonly text: string;
      readonly item?: HistoryItem;
      readonly images: readonly string[];
      readonly media: readonly WireMedia[];
      readonly sender?: string;
      readonly unsent?: Unsent;
    }
  | { readonly kind: 'answer'; readonly text: string; readonly item?: HistoryItem; readonly usage?: HistoryUsage }
  | { readonly kind: 'reasoning'; readonly text: string; readonly item: HistoryItem }
  | { readonly kind: 'tool'; readonly call: HistoryItem; readonly result?: HistoryItem }
  | { readonly kind: 'mark'; readonly text: string }
  | { readonly kind: 'notice'; readonly row: Row }
);

/** What is known of a conversation, joined into what is shown, oldest first. */
export function timelineOf(known: {
  readonly items: readonly HistoryItem[];
  readonly rows: readonly Row[];
  readonly unsent: readonly Unsent[];
  /** Running turns, each with its `since`: they show themselves what they did from then on. */
  readonly running?: ReadonlyMap<string, number>;
}): readonly Entry[] {
  const running = known.running ?? new Map<string, number>();
  const items = known.items.filter(
    (item) => item.kind === 'user' || item.at < (running.get(item.turn ?? '') ?? Infinity),
  );
  const said = fromHistory(items, running);
  const other = fromRows(items, known.rows, running);
  const merged = [...said, ...other].toSorted((a, b) => a.at - b.at);
  const shownBack = new Set(known.rows.map(({ externalId }) => externalId));
  const mine = known.unsent.filter(({ id }) => !shownBack.has(id)).map(fromUnsent);
  return [...merged, ...mine];
}

function fromHistory(items: readonly HistoryItem[], running: ReadonlyMap<string, number>): readonly Entry[] {
  const results = new Map(items.filter(({ kind }) => kind === 'result').map((item) => [item.callId, item]));
  const calls = new Set(items.filter(({ kind }) => kind === 'call').map(({ callId }) => callId));
  return items.flatMap((item): readonly Entry[] => {
    const base = { key: item.id, at: item.at, ...(item.isTakenBack === true ? { isTakenBack: true } : {}) };
    switch (item.kind) {
      case 'user':
        return [{ ...base, kind: 'user', text: item.text, item, images: item.images ?? [], media: [] }];
      case 'assistant':
        // A call without words.
        if (item.text.trim() === '' && item.usage === undefined) return [];
        return [
          {
            ...base,
            kind: 'answer',
            text: item.text,
            item,
            ...(item.usage === undefined ? {} : { usage: item.usage }),
          },
        ];
      case 'reasoning':
        return [{ ...base, kind: 'reasoning', text: item.text, item }];
      case 'call': {
        const result = results.get(item.callId);
        // Its turn, which an earlier process began, may run it again.
        if (result === undefined && item.turn !== null && running.has(item.turn)) return [];
        return [{ ...base, kind: 'tool', call: item, ...(result === undefined ? {} : { result }) }];
      }
      case 'result':
        // Its call lies before what is loaded.
        return calls.has(item.callId) ? [] : [{ ...base, kind: 'tool', call: { ...item, text: '' }, result: item }];
      case 'mark':
        return [{ ...base, kind: 'mark', text: item.text }];
    }
  });
}

/** Messages that no turn has taken, commands, and what did not come from a turn. */
function fromRows(
  items: readonly HistoryItem[],
  rows: readonly Row[],
  running: ReadonlyMap<string, number>,
): readonly Entry[] {
  const taken = new Set(items.flatMap(({ sources }) => sources ?? []));
  const answered = new Set(items.filter(({ kind }) => kind === 'assistant').map(({ turn }) => turn));
  return rows.flatMap((row): readonly Entry[] => {
    const base = { key: `row:${row.id}`, at: row.at };
    if (row.direction === 'in') {
      // The press of a button says nothing.
      if (taken.has(row.id) || (row.text === '' && row.media === undefined)) return [];
      const sender = row.sender === undefined || row.channel === 'web' ? {} : { sender: row.sender };
      return [{ ...base, kind: 'user', text: row.text, images: [], media: row.media ?? [], ...sender }];
    }
    // A question has buttons of its own below the conversation.
    if (row.kind === 'approval') return [];
    // Its turn shows the same text until its history is there.
    if (row.turn !== null && row.kind === 'answer' && running.has(row.turn)) return [];
    const isKnown = row.turn !== null && answered.has(row.turn) && row.kind === 'answer';
    return isKnown && (row.media ?? []).length === 0
      ? []
      : [{ ...base, kind: 'notice', row: isKnown ? { ...row, text: '' } : row }];
  });
}

function fromUnsent(message: Unsent): Entry {
  const media = (message.media ?? []).map(({ name = 'file' }) => ({ name, mediaType: '', url: null }));
  return {
    key: `unsent:${message.id}`,
    at: message.at,
    kind: 'user',
    text: message.text,
    images: [],
    media,
    unsent: message,
  };
}
