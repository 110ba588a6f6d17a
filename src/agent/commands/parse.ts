import { taintOfButton } from '../../bus/buttons.ts';
import type { InboundMessage } from '../../bus/messages.ts';

export interface ParsedCommand {
  /** `/name args`, or `,tool args` that calls a tool directly. */
  readonly type: 'slash' | 'comma';
  /** In lower case. */
  readonly name: string;
  /** Trimmed; case and line breaks kept. */
  readonly args: string;
  /** A colon stands behind the name, as it may behind any word: only a name that there is makes it a command. */
  readonly colon: boolean;
}

/** Full-width signs are what keyboards for Chinese and Japanese write. */
const SLASH = /^[/／](?<name>[a-z][\w-]*)(?:@\w+)?(?:(?<colon>\s*[:：]\s*|\s+)(?<args>[\s\S]*))?$/iu;
const COMMA = /^[,，](?<name>[a-z]\w*(?:[.-]\w+)*)(?:\s+(?<args>[\s\S]*))?$/iu;

/**
 * The command that a message is by its first word; null for an ordinary message. Paths such as `/etc/hosts` are no
 * commands; nor are other people's words, nor the label of a button that a model made, whoever presses it.
 */
export function parseCommand(message: Pick<InboundMessage, 'text' | 'untrusted' | 'action'>): ParsedCommand | null {
  if (message.untrusted || taintOfButton(message) !== null) return null;
  const trimmed = message.text.trim();
  const slash = SLASH.exec(trimmed);
  const match = slash ?? COMMA.exec(trimmed);
  if (match?.groups === undefined) return null;
  return {
    type: slash === null ? 'comma' : 'slash',
    name: (match.groups['name'] ?? '').toLowerCase(),
    args: (match.groups['args'] ?? '').trim(),
    colon: /[:：]/u.test(match.groups['colon'] ?? ''),
  };
}
