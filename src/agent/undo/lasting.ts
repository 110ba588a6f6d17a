import type { TapeEntry } from '../../session/entry.ts';
import { BATCH } from '../../tools/batch.ts';
import { FILE_TOOLS } from '../../tools/files/access.ts';
import type { TimeSpan } from '../../tools/files/changed-between.ts';
import { callTitle } from '../../tools/registry/result.ts';
import type { Tool } from '../../tools/tool.ts';
import { startedCalls } from '../commands/last-exchange.ts';

/** What a turn did that stays. */
export interface LastingCalls {
  /** Titles of the calls that sent messages, and of the others. */
  readonly sent: readonly string[];
  readonly lasting: readonly string[];
  /** When its commands ran. */
  readonly commands: readonly TimeSpan[];
}

interface LastingPorts {
  /** The tool with this name; undefined when it no longer exists. */
  readonly tool: (name: string) => Pick<Tool, 'name' | 'effect'> | undefined;
  /** Ids of the calls of the turn whose changes were recorded, so that they can be taken back. */
  readonly recorded: ReadonlySet<string>;
}

/** Actions of the tool `cron` that change nothing. */
const LOOKS = /"action"\s*:\s*"(?:list|show|silent)"/u;

/** Finds the calls of a turn whose effects stay when it is taken back. */
export function lastingCalls(
  entries: readonly TapeEntry[],
  turn: string,
  { tool, recorded }: LastingPorts,
): LastingCalls {
  const [sent, lasting, commands]: [string[], string[], TimeSpan[]] = [[], [], []];
  for (const { call, intended } of startedCalls(entries, turn)) {
    const known = tool(call.name);
    const lasts = known === undefined || known.name === BATCH ? intended : known.effect !== 'none';
    if (!lasts || FILE_TOOLS.has(known?.name ?? '') || recorded.has(call.callId)) continue;
    if (known?.name === 'cron' && LOOKS.test(call.arguments)) continue;
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
