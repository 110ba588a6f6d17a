import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { systemClock, type Clock } from '../../src/core/util/clock.ts';
import type { Step } from './model-script.ts';
import { waitFor } from './wait.ts';
import { chatOf, OWNER, type World } from './world.ts';

/** Asks `/why` in a world and reads what it says. */
export class Asking {
  readonly #world: World;
  readonly #clock: Pick<Clock, 'now'>;

  /** `clock`: that of the world, if it is another one than the machine's; the platform then has the same time. */
  constructor(world: World, clock: Pick<Clock, 'now'> = systemClock) {
    this.#world = world;
    this.#clock = clock;
  }

  /** Says something; gives the platform's id of it. */
  send(text: string, chat = OWNER, more: Readonly<Record<string, unknown>> = {}): number {
    return this.#world.telegram.userSays(chat, text, { date: this.#date, ...more }).messageId;
  }

  get #date(): number {
    return Math.floor(this.#clock.now() / 1_000);
  }

  /** Says something and waits until all that came of it is over; gives the platform's id of what was said. */
  async say(text: string, chat = OWNER, ...steps: Step[]): Promise<number> {
    this.#world.model.reply(...steps);
    const messageId = this.send(text, chat);
    await this.over(messageId);
    return messageId;
  }

  /** Waits until the turn of a message is over and what it sent was taken by the platform: an answer is seen before that. */
  async over(messageId: number): Promise<void> {
    await isOver(this.#world.home, `m:${messageId}`);
  }

  /** Asks about a message, or about the last one, and gives the first line of the reply: the cause. */
  async why(about?: number, chat = OWNER): Promise<string> {
    return (await this.whole(about, chat)).split('\n')[0] ?? '';
  }

  /** The same without what it is about. */
  async cause(about?: number, chat = OWNER): Promise<string> {
    return (await this.why(about, chat)).replace(/^About (?:“[^”]*”|[^:]*): /u, '');
  }

  async whole(about?: number, chat = OWNER): Promise<string> {
    const before = chatOf(this.#world, chat).length;
    const { telegram } = this.#world;
    const isOurs = telegram.sentMessages.some(({ messageId }) => messageId === about);
    const from = isOurs ? { from: { ...telegram.bot, is_bot: true } } : {};
    const replied = { message_id: about, date: 1, chat: { id: chat, type: 'private' }, text: 'x', ...from };
    this.send('/why', chat, about === undefined ? {} : { reply_to_message: replied });
    return await waitFor(
      () =>
        chatOf(this.#world, chat)
          .slice(before)
          .find((text) => text.startsWith('About ')),
      { what: 'the story' },
    );
  }
}

/** Waits until the turn of the message with this platform id is over, or it got none, and nothing of it waits to be sent. */
export async function isOver(home: string, externalId: string): Promise<void> {
  using db = new DatabaseSync(join(home, 'state.db'), { readOnly: true });
  const open = db.prepare(
    `SELECT count(*) AS n, sum(inbound.state IN ('accepted', 'running') OR turns.state IN ('running', 'stopping') OR EXISTS (
       SELECT 1 FROM outbound WHERE outbound.turn_id = inbound.turn_id AND outbound.state IN ('pending', 'sending')
     )) AS open FROM inbound LEFT JOIN turns ON turns.id = inbound.turn_id WHERE external_id = ?`,
  );
  await waitFor(
    () => {
      const row = open.get(externalId);
      return Number(row?.['n']) > 0 && Number(row?.['open']) === 0;
    },
    { what: `the end of the turn of ${externalId}` },
  );
}
