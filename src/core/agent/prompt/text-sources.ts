import type { InboundMessage } from '../../bus/messages.ts';

/** Where the untrusted text of a message came from; completes `this conversation contains text from …`. `quoted`: it replies to another person's text; `hasFile`: it has an attached file. */
export function sourceOfMessage(
  { origin, untrusted, shared, role, context, action }: InboundMessage,
  { quoted, hasFile }: { readonly quoted: boolean; readonly hasFile: boolean },
): string {
  if (origin === 'subagent') return 'what a subagent read';
  if (origin !== 'user') return 'an outside source';
  if (untrusted || shared !== undefined) return 'a forwarded message';
  if (quoted) return 'a quoted message';
  if (role === 'guest') return 'a guest';
  if (context.some(({ isOwners }) => isOwners !== true)) return 'earlier messages in this group';
  if (hasFile) return 'a file that was sent';
  return action === undefined ? 'an outside source' : 'an outside source that led to this button';
}
