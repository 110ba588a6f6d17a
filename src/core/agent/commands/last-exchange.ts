import type { ToolCallPart } from '../../providers/provider.ts';
import { isByPeople, type TapeEntry, saidIn } from '../../session/entry.ts';
import { turnOf } from '../../session/turns.ts';
import { WindowScan, type Window } from '../../session/history-window.ts';

/** The last messages that a person wrote, and the turns that answered them. */
export interface Exchange {
  readonly turn: string;
  /** The turn, then earlier turns that answered the same messages and were retracted for it, newest first. */
  readonly attempts: readonly string[];
  /** The texts of the person's messages. */
  readonly said: readonly string[];
}

export interface NoExchange {
  /** What the conversation begins with; `start`: nothing was removed before it. */
  readonly boundary: Window['boundary'];
}

/** The newest ended turns that answered people and were not retracted, newest first, at most `most`. */
export function exchanges(
  entries: readonly TapeEntry[],
  most: number,
): { readonly found: readonly Exchange[] } & NoExchange {
  const window = windowOf(entries);
  const retracted = new Set(window.entries.flatMap((entry) => (entry.kind === 'retract' ? entry.turns : [])));
  const starts = new Map(
    window.entries.flatMap((entry) =>
      entry.kind === 'turn-start' && entry.turn !== null ? [[entry.turn, entry] as const] : [],
    ),
  );
  const found: Exchange[] = [];
  for (const { kind, turn } of window.entries.slice(window.from).toReversed()) {
    if (found.length === most) break;
    if (kind !== 'turn-end' || turn === null || retracted.has(turn)) continue;
    const said = wordsIn(window.entries, turn);
    if (!isByPeople(starts.get(turn)?.origin ?? 'user') || said.length === 0) continue;
    const sources = new Set(starts.get(turn)?.sources);
    const earlier = [...starts]
      .filter(([id, start]) => id !== turn && retracted.has(id) && start.sources.some((source) => sources.has(source)))
      .map(([id]) => id)
      .toReversed();
    found.push({ turn, attempts: [turn, ...earlier], said });
  }
  return { found, boundary: window.boundary };
}

interface StartedCall {
  readonly call: ToolCallPart;
  /** The tape has its intent, or that of a call inside it. */
  readonly intended: boolean;
  /** It has a result that is not an error. */
  readonly succeeded: boolean;
}

/** The calls of a turn that may have had an effect, in their order. */
export function startedCalls(entries: readonly TapeEntry[], turn: string): readonly StartedCall[] {
  const own = entries.filter((entry) => entry.turn === turn);
  const intended = new Set(own.flatMap((entry) => (entry.kind === 'intent' ? [entry.callId] : [])));
  const isIntended = (id: string): boolean => [...intended].some((one) => one === id || one.startsWith(`${id}.`));
  return turnOf(own)
    .toolCalls.map(({ asked, result }) => ({
      call: asked,
      intended: isIntended(asked.callId),
      succeeded: result?.isError === false,
    }))
    .filter((started) => started.intended || started.succeeded);
}

/** The part of the entries that the session's history is made from. */
export function windowOf(entries: readonly TapeEntry[]): Window {
  const scan = new WindowScan();
  for (const entry of entries.toReversed()) if (!scan.take(entry)) break;
  return scan.finish();
}

function wordsIn(entries: readonly TapeEntry[], turn: string): readonly string[] {
  return entries.flatMap((entry) =>
    entry.turn === turn && entry.kind === 'message' && entry.role === 'user' ? [saidIn(entry)] : [],
  );
}
