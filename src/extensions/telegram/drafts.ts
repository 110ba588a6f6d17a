import { crc32 } from 'node:zlib';
import type { Api } from 'grammy/web';
import type { OutgoingPart } from '../../core/api-channels.ts';
import { RecentMap } from '../../core/api.ts';
import { toSendError } from './errors.ts';
import { forGrammy } from './transport.ts';
import { sendHtml } from './send-html.ts';

const MOST_REFUSED = 1_000;

/**
 * Shows an answer while it is written, as a Telegram draft: possible only in direct chats. A draft is not a message; Telegram
 * removes it half a minute after its last update.
 */
export class Drafts {
  /** Chats in which Telegram, or a Bot API server without drafts, refused one; they are not asked again. */
  readonly #refused = new RecentMap<string, true>(MOST_REFUSED);

  /** Shows or updates the draft of a part. False: this chat takes no drafts. Throws a `SendError` for other failures. */
  async show(api: Api, part: OutgoingPart, signal: AbortSignal): Promise<boolean> {
    const { chatId, threadId } = part;
    // Ids of groups are negative.
    if (!/^\d+$/u.test(chatId) || this.#refused.get(chatId) === true) return false;
    const draft = {
      chat_id: Number(chatId),
      draft_id: draftIdOf(part.nonce),
      ...(threadId === undefined ? {} : { message_thread_id: Number(threadId) }),
    };
    try {
      await sendHtml(part.text, (text) => api.raw.sendMessageDraft({ ...draft, ...text }, forGrammy(signal)));
      return true;
    } catch (error) {
      const failed = toSendError(error);
      if (failed.failure !== 'permanent') throw failed;
      this.#refused.set(chatId, true);
      return false;
    }
  }
}

/** A draft's id: not zero, and the same for all updates of one answer. */
function draftIdOf(nonce: string): number {
  return 1 + (crc32(nonce) % 2_147_483_647);
}
