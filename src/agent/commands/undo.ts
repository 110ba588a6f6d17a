import type { Session } from '../../session/session.ts';
import { BATCH } from '../../tools/batch.ts';
import { FILE_TOOLS } from '../../tools/files/access.ts';
import type { RestoredFile } from '../../tools/files/restore-files.ts';
import { callTitle } from '../../tools/registry/result.ts';
import type { Tool } from '../../tools/tool.ts';
import { oneLine, plural } from '../../util/text.ts';
import { lastExchange, startedCalls, type NoExchange } from './last-exchange.ts';
import type { Command } from './command.ts';

export interface UndoPorts {
  openSession(sessionKey: string): Promise<Pick<Session, 'window' | 'append'>>;
  /** Puts back what file tools changed in a turn. Called again it goes on where it was cut off. */
  restoreFiles(sessionKey: string, turnId: string): Promise<readonly RestoredFile[]>;
  /** The tool that a name in a call means; undefined: there is none any more. */
  tool(name: string): Pick<Tool, 'name' | 'effect'> | undefined;
}

/** How many files, and how many calls, are named. */
const MOST_NAMED = 20;

/**
 * Takes the last exchange back. The files come first: after a crash in between the exchange is still in the
 * conversation, so that another /undo takes the same one and finishes it.
 */
export const undoCommand = (ports: UndoPorts): Command => ({
  name: 'undo',
  description: 'take your last message and what I did about it back, files included',
  role: 'owner',
  priority: false,
  interrupts: false,
  run: async ({ message: { sessionKey } }) => {
    const session = await ports.openSession(sessionKey);
    const entries = session.window;
    const last = lastExchange(entries);
    if (!('turn' in last)) return nothingLeft(last);
    const files = new Map<string, RestoredFile>();
    for (const turn of last.attempts) {
      for (const file of await ports.restoreFiles(sessionKey, turn)) files.set(file.path, file);
    }
    await session.append([{ kind: 'retract', turn: null, turns: [last.turn] }]);
    const calls = last.attempts.toReversed().flatMap((turn) => lastingCalls(entries, turn, ports));
    const [first = '', ...more] = last.said;
    const others = more.length === 0 ? '' : ` (and ${plural(more.length, 'more message')})`;
    return [
      `Undone: “${oneLine(first, 80)}”${others} and what I answered are out of this conversation.`,
      ...list('Files:', [...files.values()].map(fileLine)),
      ...list('This cannot be undone:', calls),
    ].join('\n');
  },
});

function nothingLeft({ boundary }: NoExchange): string {
  switch (boundary) {
    case 'start':
      return 'There is nothing to undo here.';
    case 'reset':
      return 'There is nothing to undo since the fresh start. What was before it stays as it is.';
    case 'anchor':
      return 'There is nothing more to undo: what was said before is in the conversation only as a summary.';
    case 'trim':
      return 'There is nothing more to undo: what was said before has left the conversation, which had grown too long.';
  }
}

/** Titles of the calls that had effects on something else than files. */
function lastingCalls(entries: Session['window'], turn: string, ports: UndoPorts): readonly string[] {
  return startedCalls(entries, turn).flatMap(({ call, intended }) => {
    const tool = ports.tool(call.name);
    const lasts =
      tool === undefined || tool.name === BATCH ? intended : tool.effect !== 'none' && !FILE_TOOLS.has(tool.name);
    return lasts ? [`- ${code(callTitle(call))}`] : [];
  });
}

function fileLine({ path, outcome, reason }: RestoredFile): string {
  switch (outcome) {
    case 'restored':
      return `- ${code(path)}: as it was before`;
    case 'removed':
      return `- ${code(path)}: removed, since it was new`;
    case 'left':
      return `- ${code(path)}: left as it is: ${reason}`;
  }
}

/** Names and commands hold characters that Markdown would read. */
function code(text: string): string {
  return `\`${text.replaceAll('`', '´')}\``;
}

function list(title: string, lines: readonly string[]): readonly string[] {
  if (lines.length === 0) return [];
  const rest = lines.length - MOST_NAMED;
  return [title, ...lines.slice(0, MOST_NAMED), ...(rest > 0 ? [`- and ${rest} more`] : [])];
}
