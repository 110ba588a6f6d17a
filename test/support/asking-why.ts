import type { Step } from './model-script.ts';
import { waitFor } from './wait.ts';
import { chatOf, OWNER, type World } from './world.ts';

/** Asks `/why` in a world and reads what it says. */
export class Asking {
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  /** Says something and waits until its turn is over; gives the platform's id of what was said. */
  async say(text: string, chat = OWNER, ...steps: Step[]): Promise<number> {
    const { model, telegram } = this.#world;
    model.reply(...steps);
    const before = chatOf(this.#world, chat).length;
    const { messageId } = telegram.userSays(chat, text);
    await waitFor(() => chatOf(this.#world, chat).length > before, { what: `an answer to ${text}` });
    await this.over();
    return messageId;
  }

  /** Waits until no turn runs: an answer is seen while its turn still ends. */
  async over(): Promise<void> {
    const newest = async (): Promise<string | null | undefined> =>
      (await this.#world.assistant.request('turnsList', { count: 1 }))[0]?.outcome;
    await waitFor(async () => (await newest()) !== null, { what: 'the end of the turn' });
  }

  /** Asks about a message, or about the last one, and gives the first line of the reply: the cause. */
  async why(about?: number, chat = OWNER): Promise<string> {
    return (await this.whole(about, chat)).split('\n')[0] ?? '';
  }

  async whole(about?: number, chat = OWNER): Promise<string> {
    const before = chatOf(this.#world, chat).length;
    const replied = { message_id: about, date: 1, chat: { id: chat, type: 'private' }, text: 'x' };
    this.#world.telegram.userSays(chat, '/why', about === undefined ? {} : { reply_to_message: replied });
    return await waitFor(
      () =>
        chatOf(this.#world, chat)
          .slice(before)
          .find((text) => text.startsWith('About ')),
      { what: 'the story' },
    );
  }
}
