import type { ReactionDraft } from '../bus/reactions.ts';
import type { App } from '../app.ts';

/** Keeps people's reactions to answers, each for the conversation that its person has in that place. */
export async function keepReactions(reactions: readonly ReactionDraft[], { bus, journal }: App): Promise<void> {
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
