import type { CallRecord, TapeEntry } from '../../session/entry.ts';
import { isCallNote } from '../../session/turns.ts';
import { oneLine } from '../../util/text.ts';

const QUOTED = 80;

/** The records of a conversation's model calls just before a turn and in it. */
export interface NeighbourCalls {
  /** The newest call before the turn; undefined: there is none near. */
  readonly before: CallRecord | undefined;
  /** The first call of the turn. */
  readonly first: CallRecord | undefined;
}

/** The calls on both sides of a turn's beginning. `entries`: those of the turn and some before it, oldest first. */
export function neighbourCalls(entries: readonly TapeEntry[], turn: string): NeighbourCalls {
  const calls = entries.filter(isCallNote);
  return {
    before: calls.findLast((entry) => entry.turn !== turn)?.call,
    first: calls.find((entry) => entry.turn === turn)?.call,
  };
}

/**
 * How the prompt of a turn differs from that of the turn before, so that the provider could not use its cache of it; null:
 * it begins with the same. `read`: the text of a part by its hash.
 */
export async function promptChange(
  { before, first }: NeighbourCalls,
  read: (hash: string) => Promise<string | undefined>,
): Promise<string | null> {
  if (before === undefined || first === undefined) return null;
  if (before.tools !== first.tools)
    return 'The list of tools had changed since the turn before, so the prompt cache was not used.';
  if (before.layers.length !== first.layers.length) {
    return 'A part of the system prompt came or went since the turn before, so the prompt cache was not used from there on.';
  }
  const at = first.layers.findIndex((hash, n) => hash !== before.layers[n]);
  const [old, now] = [before.layers[at], first.layers[at]];
  if (old === undefined || now === undefined) return null;
  const line = firstNewLine((await read(old)) ?? '', (await read(now)) ?? '');
  const where = line === '' ? '' : ` at “${oneLine(line, QUOTED)}”`;
  return `The system prompt had changed${where} since the turn before, so the prompt cache was not used from there on.`;
}

/** The first line that was not there before, or the one that is gone. */
function firstNewLine(before: string, now: string): string {
  const [old, fresh] = [before.split('\n'), now.split('\n')];
  const at = fresh.findIndex((line, n) => line !== old[n]);
  return (at === -1 ? old[fresh.length] : fresh[at] === '' ? fresh[at + 1] : fresh[at]) ?? '';
}
