import type { Api } from 'grammy/web';
import { RecentMap } from '../../util/recent-map.ts';
import type { OutgoingPart } from '../channel.ts';
import { plainText } from '../markup/html.ts';
import { isMarkupRefused, toSendError } from './errors.ts';
import { forGrammy } from './grammy-signal.ts';

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
      await api.raw
        .sendMessageDraft({ ...draft, text: part.text, parse_mode: 'HTML' }, forGrammy(signal))
        .catch(async (error: unknown) => {
          if (!isMarkupRefused(error)) throw error;
          return await api.raw.sendMessageDraft({ ...draft, text: plainText(part.text) }, forGrammy(signal));
        });
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
  let id = 0;
  for (const char of nonce) id = (id * 31 + (char.codePointAt(0) ?? 0)) % 2_147_483_647;
  return id + 1;
}
