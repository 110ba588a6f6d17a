import type { InboundMessage, InboundDraft } from '../bus/messages.ts';
import { asksSameRun } from '../bus/run.ts';
import { atLeast } from '../security/access/access.ts';
import { parseCommand } from './commands/parse.ts';

/** Key of the session that all direct chats of the owner share when `session.unified` is set. */
export const UNIFIED_SESSION = 'unified:owner';

/**
 * Whether a waiting message may join the turn that `first` began, which is not one that the assistant started itself. It must be written by a person, be no command, come from
 * the same chat and thread (any chat in the unified session), ask for the same model, tools and limits, and have at least the same role.
 */
export function mayJoin(first: InboundMessage, message: InboundMessage): boolean {
  return (
    message.origin === 'user' &&
    (sameChat(first, message) || first.sessionKey === UNIFIED_SESSION) &&
    first.metadata['model'] === message.metadata['model'] &&
    asksSameRun(first, message) &&
    atLeast(message.role, first.role) &&
    parseCommand(message) === null
  );
}

/** The same chat and, where it has threads, the same thread. */
export function sameChat(a: InboundMessage, b: InboundMessage): boolean {
  return a.channel === b.channel && a.account === b.account && a.chatId === b.chatId && a.threadId === b.threadId;
}

/** Session key of a message when `session.unified` is set; undefined when the session of its chat applies. */
export function unifiedSession({ origin, role, chatType }: InboundDraft): string | undefined {
  return origin === 'user' && role === 'owner' && chatType === 'direct' ? UNIFIED_SESSION : undefined;
}
