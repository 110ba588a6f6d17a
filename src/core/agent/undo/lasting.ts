import type { App } from '../../app.ts';
import type { TapeEntry } from '../../session/entry.ts';
import { BATCH } from '../../tools/batch.ts';
import type { TimeSpan } from '../../files/changed-between.ts';
import { callTitle } from '../../tools/registry/result.ts';
import { startedCalls } from '../commands/last-exchange.ts';

/** What a turn did that stays. */
export interface LastingCalls {
  /** Titles of the calls that sent messages, and of the others. */
  readonly sent: readonly string[];
  readonly lasting: readonly string[];
  /** When its commands ran that worked on the workspace itself. */
  readonly commands: readonly TimeSpan[];
}

/**
 * Finds the calls of a turn whose effects stay when it is taken back. `recorded`: ids of calls whose changes were recorded,
 * so that they can be taken back.
 */
export function lastingCalls(
  entries: readonly TapeEntry[],
  turn: string,
  { app, recorded }: { readonly app: App; readonly recorded: ReadonlySet<string> },
): LastingCalls {
  const [sent, lasting, commands]: [string[], string[], TimeSpan[]] = [[], [], []];
  for (const { call, intended } of startedCalls(entries, turn)) {
    const known = app.tools.named(call.name);
    const lasts = known === undefined || known.name === BATCH ? intended : known.effect !== 'none';
    if (!lasts || known?.isRecorded === true || recorded.has(call.callId)) continue;
    if (known?.looks?.test(call.arguments) === true) continue;
    (known?.name === 'message' ? sent : lasting).push(callTitle(call));
    if (known?.name === 'exec' || known?.name === BATCH) commands.push(...spansOf(entries, call.callId));
  }
  return { sent, lasting, commands };
}

function spansOf(entries: readonly TapeEntry[], callId: string): readonly TimeSpan[] {
  const start = entries.find((entry) => entry.kind === 'intent' && entry.callId.startsWith(callId));
  const end = entries.findLast((entry) => entry.kind === 'message' && entry.role === 'tool' && entry.callId === callId);
  return start === undefined || end === undefined ? [] : [{ from: start.at, to: end.at }];
}
