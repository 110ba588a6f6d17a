import type { MessageBus } from '../bus/bus.ts';
import type { ReactionDraft } from '../bus/reactions.ts';
import type { Channel, StateReactions } from '../channels/channel.ts';
import type { ChannelSettings } from '../config/schema/channels.ts';
import type { Journal } from '../journal/journal.ts';

export interface ReactionPorts {
  readonly bus: MessageBus;
  readonly journal: Journal;
}

/** Keeps people's reactions to answers, each for the conversation that its person has in that place. */
export async function keepReactions(
  reactions: readonly ReactionDraft[],
  { bus, journal }: ReactionPorts,
): Promise<void> {
  const known = reactions.flatMap((reaction) => {
    const about = journal.reactions.about(reaction);
    if (about === undefined) return [];
    const { outboundId, threadId } = about;
    const { channel, account, chatId, chatType, sender, role, at } = reaction;
    const session = bus.sessionOf({
      channel,
      account,
      chatId,
      ...(threadId === undefined ? {} : { threadId }),
      chatType,
      sender,
      role,
      text: '',
      media: [],
      mentioned: true,
      context: [],
      receivedAt: at,
      externalId: '',
      origin: 'user',
      untrusted: false,
      metadata: {},
    });
    return [{ ...reaction, outboundId, session }];
  });
  if (known.length > 0) await journal.reactions.keep(known);
}

/** The reactions of a channel by its setting and by what is usual on its platform; null: it shows none. */
export function chosenReactions(
  setting: ChannelSettings['reactions'] | undefined,
  platform: Channel['stateReactions'],
): StateReactions | null {
  if (platform === undefined || !(setting?.show ?? platform.isOn)) return null;
  const { usual } = platform;
  return {
    seen: setting?.seen ?? usual.seen,
    working: setting?.working ?? setting?.seen ?? usual.working,
    done: setting?.done ?? usual.done,
    failed: setting?.failed ?? usual.failed,
  };
}
