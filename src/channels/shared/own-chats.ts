import {
  SendError,
  type Channel,
  type ChannelCapabilities,
  type ChannelContext,
  type ChannelHealth,
  type OutgoingPart,
} from '../channel.ts';

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
export class OwnChats implements Channel {
  readonly name: string;
  readonly kind: string;
  readonly capabilities: ChannelCapabilities;
  readonly commandPrefix?: string;
  readonly settlesResends?: boolean;
  readonly sendDeadlineMs?: number;
  readonly album?: NonNullable<Channel['album']>;
  readonly stateReactions?: NonNullable<Channel['stateReactions']>;
  readonly edit?: NonNullable<Channel['edit']>;
  readonly draft?: NonNullable<Channel['draft']>;
  readonly typing?: NonNullable<Channel['typing']>;
  readonly react?: NonNullable<Channel['react']>;
  readonly download?: NonNullable<Channel['download']>;
  readonly #real: Channel;
  readonly #line: Line;

  constructor(real: Channel, line: Line) {
    this.#real = real;
    this.#line = line;
    this.name = real.name;
    this.kind = real.kind;
    this.capabilities = real.capabilities;
    if (real.commandPrefix !== undefined) this.commandPrefix = real.commandPrefix;
    if (real.settlesResends !== undefined) this.settlesResends = real.settlesResends;
    if (real.sendDeadlineMs !== undefined) this.sendDeadlineMs = real.sendDeadlineMs;
    if (real.stateReactions !== undefined) this.stateReactions = real.stateReactions;
    if (real.album !== undefined) this.album = (files) => this.#real.album?.(files) ?? files.map((file) => [file]);
    if (real.edit !== undefined) this.edit = (part, signal) => this.#call(part, async (to) => to.edit?.(part, signal));
    if (real.draft !== undefined)
      this.draft = (part, signal) => this.#call(part, async (to) => (await to.draft?.(part, signal)) ?? false);
    if (real.typing !== undefined)
      this.typing = async (chat, signal) => {
        if (line.owns(chat.chatId)) await line.connected()?.typing?.(chat, signal);
      };
    if (real.react !== undefined)
      this.react = (target, change, signal) =>
        this.#call({ chatId: target.chatId }, async (to) => to.react?.(target, change, signal));
    if (real.download !== undefined) {
      // Only its own messages name files by their source.
      this.download = async (source, limits, signal) => {
        const bytes = await this.#connected().download?.(source, limits, signal);
        if (bytes === undefined) throw new SendError('permanent', 'the channel has no files');
        return bytes;
      };
    }
  }

  start(context: ChannelContext, signal: AbortSignal): Promise<AsyncDisposable> {
    return this.#line.start(context, signal);
  }

  render(markdown: string): readonly string[] {
    return this.#real.render(markdown);
  }

  plain(text: string): readonly string[] {
    return this.#real.plain(text);
  }

  send(part: OutgoingPart, signal: AbortSignal): Promise<{ readonly platformId: string }> {
    return this.#call(part, (to) => to.send(part, signal));
  }

  health(): ChannelHealth {
    return this.#line.health();
  }

  async #call<T>({ chatId, turnId }: Chat, call: (channel: Channel) => Promise<T>): Promise<T> {
    const { owns, began, sending, revoked } = this.#line;
    if (!owns(chatId) && (turnId === undefined || !began(turnId, chatId))) throw new SendError('permanent', NOT_OWN);
    const channel = this.#connected(chatId);
    try {
      return await (sending?.(call(channel)) ?? call(channel));
    } catch (error) {
      if (!(error instanceof SendError) || error.failure !== 'revoked' || revoked === undefined) throw error;
      revoked(error.message);
      throw new SendError('retryable', error.message, { cause: error });
    }
  }

  #connected(chatId?: string): Channel {
    const channel = this.#line.connected();
    if (channel !== undefined) return channel;
    if (chatId !== undefined) this.#line.missed?.(chatId);
    throw new SendError('retryable', `channel "${this.name}" is not connected`);
  }
}
