import type { PairedRole } from '../../bus/messages.ts';
import { ChannelError, SendError, type Channel } from '../../channels/channel.ts';
import { plainMarkup } from '../../channels/markup/markup.ts';
import { splitRanges } from '../../channels/markup/split.ts';
import type { ChannelKit } from '../../plugins/plugin.ts';
import { decideAccess, type AccessSettings } from '../../security/access/access.ts';

/** What a plugin's channel is given; `settings` are the people and groups of its entry. */
export function kitFor(settings: AccessSettings | undefined): ChannelKit {
  return {
    SendError,
    ChannelError,
    plainParts: (markdown, maxLength) => plainMarkup.render(markdown).flatMap((text) => split(text, maxLength)),
    roleOf: ({ senderId, isBot, isSelf, chatType, chatId }, pairedRole) => {
      const sender = { id: senderId, isBot, isSelf };
      const decision = decideAccess({
        via: 'channel',
        settings,
        pairedRole: (id) => asPaired(pairedRole(id)),
        chatType,
        chatId,
        sender,
      });
      if (decision.allowed) return decision.role;
      return decision.stranger === null ? 'nobody' : 'stranger';
    },
  };
}

/** The channel, with a `plain` that shows a text as it is where the plugin brings none. */
export function withPlain(channel: Channel): Channel {
  if (typeof channel.plain === 'function') return channel;
  const { maxLength } = channel.capabilities;
  const plain: Channel['plain'] = (text) => (text.trim() === '' ? [] : split(text, maxLength));
  return Object.assign(channel, { plain });
}

function split(text: string, maxLength: number): readonly string[] {
  return splitRanges(text, maxLength).map(({ start, end }) => text.slice(start, end));
}

function asPaired(paired: unknown): PairedRole | undefined {
  if (paired === 'owner' || paired === 'guest') return paired;
  return paired === 'trusted' || paired === true ? 'trusted' : undefined;
}
