import type { InboundMessage, InboundDraft } from '../bus/messages.ts';
import { atLeast } from '../security/access/access.ts';
import { parseCommand } from './commands/parse.ts';

/** The one session of the owner's direct chats where `session.unified` is set. */
export const UNIFIED_SESSION = 'unified:owner';

/** Nobody said it: the time had come. */
export function isSelfStarted({ origin }: InboundMessage): boolean {
  return origin === 'cron' || origin === 'heartbeat';
}

/**
 * Whether a waiting message may belong to the turn that `first` began. Only a person's words do, in the same chat and thread
 * (in any chat of a unified session), meant for the same model, from somebody who may do at least as much.
 */
export function mayJoin(first: InboundMessage, message: InboundMessage): boolean {
  return (
    message.origin === 'user' &&
    !isSelfStarted(first) &&
    (sameChat(first, message) || first.sessionKey === UNIFIED_SESSION) &&
    first.metadata['model'] === message.metadata['model'] &&
    atLeast(message.role, first.role) &&
    parseCommand(message) === null
  );
}

/** The same chat and, where it has threads, the same thread. */
export function sameChat(a: InboundMessage, b: InboundMessage): boolean {
  return a.channel === b.channel && a.account === b.account && a.chatId === b.chatId && a.threadId === b.threadId;
}

/** The session of a message where `session.unified` is set; undefined: its chat's own. */
export function unifiedSession({ origin, role, chatType }: InboundDraft): string | undefined {
  return origin === 'user' && role === 'owner' && chatType === 'direct' ? UNIFIED_SESSION : undefined;
}
