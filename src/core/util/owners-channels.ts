/** The channels of this machine itself: whoever reaches them is the owner, and no setting names them. */
const OWNERS_CHANNELS: ReadonlySet<string> = new Set(['terminal', 'web', 'api']);

/** Whether a channel is one of this machine itself, which only the owner reaches. */
export function isOwnersChannel(channel: string): boolean {
  return OWNERS_CHANNELS.has(channel);
}
