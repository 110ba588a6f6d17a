import { outboundTo } from '../agent/outgoing.ts';
import type { Button } from '../bus/messages.ts';
import type { App } from '../app.ts';
import { errorMessage } from '../util/errors.ts';
import { configuredOwnersChat } from '../stores/owners-address.ts';

/** Tells the owner, in the direct chat in which they wrote last. A notice with the same id is queued once. */
export class Notices {
  readonly #app: App;

  constructor(app: App) {
    this.#app = app;
  }

  /** Queues a notice. False: no one knows yet where the owner can be told. Rejects when the journal does not take it. */
  async queue(id: string, text: string, button?: Button): Promise<boolean> {
    const { people, bus, clock } = this.#app;
    const chat = people.ownersChat();
    if (chat === undefined) return false;
    const notice = outboundTo(chat, { id, kind: 'notice', text }, clock.now());
    await bus.publishOutbound({ ...notice, ...(button === undefined ? {} : { buttons: [[button]] }) });
    return true;
  }

  /** For what is told by the way: a notice that the journal does not take is logged, and false. Never rejects. */
  async tell(id: string, text: string, button?: Button): Promise<boolean> {
    return await this.#tried(id, () => this.queue(id, text, button));
  }

  /** The same for what is wrong: an owner who has not written yet is told in the chat that the configuration names. */
  async warn(id: string, sentence: string): Promise<boolean> {
    const { people, bus, loaded } = this.#app;
    const text = `⚠ ${sentence}`;
    return await this.#tried(id, async () => {
      if (people.ownersChat() !== undefined) return await this.queue(id, text);
      const chat = configuredOwnersChat(loaded);
      if (chat === undefined) return false;
      await bus.publishOutbound({ ...chat, id, kind: 'notice', text, media: [], metadata: {} });
      return true;
    });
  }

  async #tried(id: string, queue: () => Promise<boolean>): Promise<boolean> {
    try {
      return await queue();
    } catch (error) {
      this.#app.log.warn('notice to the owner not queued', { id, reason: errorMessage(error) });
      return false;
    }
  }
}
