import type { Session } from '../../session/session.ts';
import { BATCH } from '../../tools/batch.ts';
import { FILE_TOOLS } from '../../tools/files/access.ts';
import type { RestoredFile } from '../../tools/files/restore-files.ts';
import { callTitle } from '../../tools/registry/result.ts';
import type { Tool } from '../../tools/tool.ts';
import { oneLine, plural } from '../../util/text.ts';
import { lastExchange, startedCalls, type NoExchange } from './last-exchange.ts';
import type { ChatCommand } from './command.ts';

export interface UndoPorts {
  openSession(sessionKey: string): Promise<Pick<Session, 'window' | 'append'>>;
  /** Restores the files that file tools changed in a turn. Called again after a crash, it finishes the work. */
  restoreFiles(sessionKey: string, turnId: string): Promise<readonly RestoredFile[]>;
  /** The tool with this name; undefined when it no longer exists. */
  tool(name: string): Pick<Tool, 'name' | 'effect'> | undefined;
}

/** Most files, and most calls, that the reply lists. */
const MOST_NAMED = 20;

/**
 * /undo: removes the last exchange from the conversation. Files are restored first: after a crash the exchange is still
 * there, so that another /undo finishes the same one.
 */
export const undoCommand = (ports: UndoPorts): ChatCommand => ({
  name: 'undo',
  description: 'take back your last message and what I did about it, including changed files',
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
      `Undone: “${oneLine(first, 80)}”${others} and my answer are no longer part of this conversation.`,
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
      return 'There is nothing to undo since this conversation was started anew. What was before stays as it is.';
    case 'anchor':
      return 'There is nothing more to undo: earlier messages are only in the conversation as a summary.';
    case 'trim':
      return 'There is nothing more to undo: earlier messages have left the conversation, because it had become too long.';
  }
}

/** Titles of the calls whose effects cannot be undone: on anything but files. */
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
      return `- ${code(path)}: restored`;
    case 'removed':
      return `- ${code(path)}: removed, because it was new`;
    case 'left':
      return `- ${code(path)}: not changed: ${reason}`;
  }
}

/** Shows a name or command as code, because it may contain Markdown. */
function code(text: string): string {
  return `\`${text.replaceAll('`', '´')}\``;
}

function list(title: string, lines: readonly string[]): readonly string[] {
  if (lines.length === 0) return [];
  const rest = lines.length - MOST_NAMED;
  return [title, ...lines.slice(0, MOST_NAMED), ...(rest > 0 ? [`- and ${rest} more`] : [])];
}
