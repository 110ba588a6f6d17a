import { SendError, type Channel, type ChannelContext, type ChannelHealth, type OutgoingPart } from '../channel.ts';
import { channelWith } from '../channel-with.ts';

/** Why nothing is sent to the chat of another assistant. */
const NOT_OWN = 'That chat belongs to another assistant, so this one may neither write nor change anything there.';

/** How one assistant reaches a channel that it shares with others. */
export interface Line {
  /** Whether a chat is this assistant's own. */
  readonly owns: (chatId: string) => boolean;
  /** Whether a turn began with a message of this chat, which the assistant accepted when the chat was its own. */
  readonly began: (turnId: string, chatId: string) => boolean;
  /** The channel itself; undefined: it is not connected now. */
  readonly connected: () => Channel | undefined;
  /** Takes note of something that is being sent. @default nothing does */
  readonly sending?: <T>(work: Promise<T>) => Promise<T>;
  /** Told that the platform refuses the channel's credentials. @default the failure is passed on */
  readonly revoked?: (reason: string) => void;
  /** Told that a chat could not be reached, since the channel is not connected. */
  readonly missed?: (chatId: string) => void;
  readonly start: (context: ChannelContext, signal: AbortSignal) => Promise<AsyncDisposable>;
  readonly health: () => ChannelHealth;
}

type Chat = Pick<OutgoingPart, 'chatId' | 'turnId'>;

/**
 * A channel as one of several assistants has it: it sends, edits and reacts in this assistant's own chats only, and refuses
 * everything else for good. What began in a chat before the chat was given to another assistant may end there.
 */
export function ownChats(real: Channel, line: Line): Channel {
  const { owns, began, sending, revoked, connected, missed, start, health } = line;
  const connection = (chatId?: string): Channel => {
    const channel = connected();
    if (channel !== undefined) return channel;
    if (chatId !== undefined) missed?.(chatId);
    throw new SendError('retryable', `channel "${real.name}" is not connected`);
  };
  const call = async <T>({ chatId, turnId }: Chat, work: (channel: Channel) => Promise<T>): Promise<T> => {
    if (!owns(chatId) && (turnId === undefined || !began(turnId, chatId))) throw new SendError('permanent', NOT_OWN);
    const channel = connection(chatId);
    try {
      return await (sending?.(work(channel)) ?? work(channel));
    } catch (error) {
      if (!(error instanceof SendError) || error.failure !== 'revoked' || revoked === undefined) throw error;
      revoked(error.message);
      throw new SendError('retryable', error.message, { cause: error });
    }
  };
  return channelWith(real, {
    start,
    health,
    send: (part, signal) => call(part, (to) => to.send(part, signal)),
    edit: (part, signal) => call(part, async (to) => to.edit?.(part, signal)),
    draft: (part, signal) => call(part, async (to) => (await to.draft?.(part, signal)) ?? false),
    typing: async (chat, signal) => {
      if (owns(chat.chatId)) await connected()?.typing?.(chat, signal);
    },
    react: (target, change, signal) =>
      call({ chatId: target.chatId }, async (to) => to.react?.(target, change, signal)),
    // Only its own messages name files by their source.
    download: async (source, limits, signal) => {
      const bytes = await connection().download?.(source, limits, signal);
      if (bytes === undefined) throw new SendError('permanent', 'the channel has no files');
      return bytes;
    },
  } satisfies Partial<Channel>);
}
