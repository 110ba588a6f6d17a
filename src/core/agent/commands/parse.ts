import { taintOfButton } from '../../bus/buttons.ts';
import type { InboundMessage } from '../../bus/messages.ts';

export interface ParsedCommand {
  /** `/name args`, or `,tool args` that calls a tool directly. */
  readonly type: 'slash' | 'comma';
  /** The name in lower case. */
  readonly name: string;
  /** Trimmed; case and line breaks kept. */
  readonly args: string;
  /** It may be ordinary text (a colon follows the name, or it has letters that no command has): a command only if one has this name. */
  readonly colon: boolean;
}

/** Chinese and Japanese keyboards write full-width signs. */
const SLASH =
  /^[/／](?<name>[a-z][\w-]*|(?=[^/]*[^\x00-\x7f])[^\s/:：@]{1,64})(?:@\w+)?(?:(?<colon>\s*[:：]\s*|\s+)(?<args>[\s\S]*))?$/iu;
const COMMA = /^[,，](?<name>[a-z]\w*(?:[.-]\w+)*)(?:\s+(?<args>[\s\S]*))?$/iu;

/**
 * Reads a message as a command; null for an ordinary message. Paths such as `/etc/hosts`, forwarded text, and the
 * labels of buttons that the model made are never commands. Whether the message may be one at all is for `Origin.mayCommand`.
 */
export function parseCommand(message: Pick<InboundMessage, 'text' | 'untrusted' | 'action'>): ParsedCommand | null {
  if (message.untrusted || taintOfButton(message) !== null) return null;
  const trimmed = message.text.trim();
  const slash = SLASH.exec(trimmed);
  const match = slash ?? COMMA.exec(trimmed);
  if (match?.groups === undefined) return null;
  const name = (match.groups['name'] ?? '').normalize('NFC').toLowerCase();
  return {
    type: slash === null ? 'comma' : 'slash',
    name,
    args: (match.groups['args'] ?? '').trim(),
    colon: /[:：]/u.test(match.groups['colon'] ?? '') || !/^[\w-]+$/u.test(name),
  };
}
