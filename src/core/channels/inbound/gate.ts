import type { InboundDraft, OutboundMessage } from '../../bus/messages.ts';
import type { ChannelContext, Stranger } from '../channel.ts';
import { GroupTalk, type GroupOptions } from './group-talk.ts';
import type { InboundResult } from './inbound-result.ts';
import { UnknownSenders } from './unknown-senders.ts';

/** What a channel has to do with a message. */
export interface Taken {
  /** The message to write to the journal; null: none. */
  readonly draft: InboundDraft | null;
  /** An unknown person in a direct chat, to be reported with `ChannelContext.requestPairing`; null: none. */
  readonly stranger: Stranger | null;
}

/**
 * Decides what a channel does with a message that it read; the same for every platform. Group messages go through
 * `GroupTalk`, unknown senders are logged. It exists as long as the channel, over several connections.
 */
export class InboundGate {
  readonly #strangers: UnknownSenders;
  readonly #talk: GroupTalk;

  constructor(channel: string, groups: GroupOptions) {
    this.#strangers = new UnknownSenders(channel);
    this.#talk = new GroupTalk(groups);
  }

  take(read: InboundResult, { clock, log, passOver }: Pick<ChannelContext, 'clock' | 'log' | 'passOver'>): Taken {
    if ('passed' in read && read.passed !== undefined) passOver(read.passed);
    if (read.type === 'nothing') return { draft: null, stranger: null };
    if (read.type === 'stranger') {
      const { sender, chatId, where } = read;
      this.#strangers.note(sender, clock.now(), log);
      return { draft: null, stranger: where === 'direct' ? { senderId: sender.id, name: sender.name, chatId } : null };
    }
    const { draft, type } = read;
    const isSaid = draft.chatType === 'group' && draft.action === undefined;
    if (!isSaid) return { draft, stranger: null };
    const heard = this.#talk.hear(draft, type === 'message');
    if (typeof heard !== 'string') return { draft: heard, stranger: null };
    const { account, chatId, externalId } = draft;
    passOver({ account, chatId, externalId, reason: heard });
    return { draft: null, stranger: null };
  }

  /** Call it when a message was delivered: for `followUpSeconds` the person who got the answer needs no mention. */
  sent({ kind, chatId, threadId }: Pick<OutboundMessage, 'kind' | 'chatId' | 'threadId'>, at: number): void {
    if (kind === 'answer') this.#talk.answered({ chatId, ...(threadId === undefined ? {} : { threadId }) }, at);
  }
}
