import { crc32 } from 'node:zlib';
import type { Api } from 'grammy/web';
import { RecentMap } from '../../util/recent-map.ts';
import type { OutgoingPart } from '../channel.ts';
import { toSendError } from './errors.ts';
import { forGrammy } from './transport.ts';
import { sendHtml } from './send-html.ts';

const MOST_REFUSED = 1_000;

/**
 * Answers that are shown while they are written, in chats of two: Telegram animates them, leaves no message behind, and
 * takes them away half a minute after the newest one.
 */
export class Drafts {
  /** Chats that take none, and servers that know of none, are not asked again. */
  readonly #refused = new RecentMap<string, true>(MOST_REFUSED);

  /** False: not in this chat. Throws a `SendError`. */
  async show(api: Api, part: OutgoingPart, signal: AbortSignal): Promise<boolean> {
    const { chatId, threadId } = part;
    // The ids of groups are below zero.
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

/** Not zero, and the same for one answer. */
function draftIdOf(nonce: string): number {
  return 1 + (crc32(nonce) % 2_147_483_647);
}
