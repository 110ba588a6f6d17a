import * as z from 'zod';
import type { TapeEntry } from './entry.ts';
import { itemsOf } from './items.ts';
import { hasTape, listTapes, readTape, type SessionInfo } from './reader.ts';
import { AppError } from '../util/errors.ts';
import { assistantCommand } from '../util/assistant-command.ts';

/** One thing that happened in a conversation, for people and programs that read it. */
export const sessionEvent = z.object({
  /** ISO 8601, UTC. */
  at: z.string(),
  turn: z.string().nullable(),
  /**
   * `user` and `assistant`: what was said. `call`: a tool was called, `text` has its arguments as JSON. `result`: what it
   * returned. `mark`: the conversation was started anew or summarised, or a turn did not end with an answer.
   */
  kind: z.enum(['user', 'assistant', 'call', 'result', 'mark']),
  /** Of the tool, for `call` and `result`. */
  name: z.string().exactOptional(),
  /** Id of the call, likewise. */
  call: z.string().exactOptional(),
  text: z.string(),
  /** The tool call failed. */
  isError: z.literal(true).exactOptional(),
  /** `/undo` or `/retry` took its turn back: the model no longer reads it. */
  isTakenBack: z.literal(true).exactOptional(),
});
export type SessionEvent = Readonly<z.output<typeof sessionEvent>>;

/** The sessions of a home, the newest first. */
export async function listSessions(folder: string): Promise<readonly SessionInfo[]> {
  return (await listTapes(folder)).toSorted((a, b) => b.changedAt - a.changedAt);
}

/**
 * What happened in a session, oldest first; at most the `last` exchanges. Reads the tape only, so that it may be used
 * beside a running assistant. Throws `session-unknown` if there is no such session.
 */
export async function readSession(
  folder: string,
  key: string,
  { last = Infinity }: { readonly last?: number } = {},
): Promise<readonly SessionEvent[]> {
  if (!(await hasTape(folder, key))) throw unknownSession(key);
  const takenBack = new Set<string>();
  const newestFirst: SessionEvent[] = [];
  let turns = 0;
  for await (const entry of readTape(folder, key)) {
    if (entry.kind === 'retract') for (const turn of entry.turns) takenBack.add(turn);
    const isTakenBack = entry.turn !== null && takenBack.has(entry.turn);
    for (const event of eventsOf(entry).toReversed())
      newestFirst.push({ ...event, ...(isTakenBack ? { isTakenBack: true as const } : {}) });
    if (entry.kind === 'turn-start') turns += 1;
    if (turns >= last) break;
  }
  return newestFirst.reverse();
}

/** The error for a session that does not exist. */
export function unknownSession(key: string): AppError {
  const given = JSON.stringify(key.slice(0, 100));
  return new AppError(
    'session-unknown',
    `No session is called ${given}. To list them: ${assistantCommand('sessions')}`,
  );
}

/** The texts of one answer are one event; reasoning is none. */
function eventsOf(entry: TapeEntry): readonly SessionEvent[] {
  const facts = { at: new Date(entry.at).toISOString(), turn: entry.turn };
  const items = itemsOf(entry);
  const answer = items.flatMap(({ kind, text }) => (kind === 'assistant' ? [text] : [])).join('\n');
  const others = items.flatMap(({ kind, name, callId, text, isError }): readonly SessionEvent[] => {
    if (kind === 'assistant' || kind === 'reasoning' || (kind === 'user' && text.trim() === '')) return [];
    const tool = name === undefined || callId === undefined ? {} : { name, call: callId };
    return [{ ...facts, kind, ...tool, text, ...(isError === undefined ? {} : { isError }) }];
  });
  return answer === '' ? others : [{ ...facts, kind: 'assistant', text: answer }, ...others];
}
