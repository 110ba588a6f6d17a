import type { InboundDraft } from '../bus/messages.ts';

/** The one session of the owner's direct chats where `session.unified` is set. */
export const UNIFIED_SESSION = 'unified:owner';

/** The session of a message where `session.unified` is set; undefined: its chat's own. */
export function unifiedSession({ origin, role, chatType }: InboundDraft): string | undefined {
  return origin === 'user' && role === 'owner' && chatType === 'direct' ? UNIFIED_SESSION : undefined;
}
