import type { Sender } from '../../bus/messages.ts';
import { assistantCommand } from '../../util/assistant-command.ts';
import type { Logger } from '../../util/log.ts';

const EVERY_MS = 3_600_000;
/** Most people that are remembered; the oldest is forgotten. */
const CAP = 1_000;

/** Logs who tried to write without being allowed, and how to allow it; once an hour for each person. */
export class UnknownSenders {
  readonly #channel: string;
  readonly #noticedAt = new Map<string, number>();

  constructor(channel: string) {
    this.#channel = channel;
  }

  note({ id, name, username }: Sender, now: number, log: Logger): void {
    if (now - (this.#noticedAt.get(id) ?? -Infinity) < EVERY_MS) return;
    this.#noticedAt.delete(id);
    this.#noticedAt.set(id, now);
    const [oldest] = this.#noticedAt.keys();
    if (this.#noticedAt.size > CAP && oldest !== undefined) this.#noticedAt.delete(oldest);
    log.info('access: ignored a message from a person who is not allowed', {
      senderId: id,
      ...(name === undefined ? {} : { name }),
      ...(username === undefined ? {} : { username }),
      hint: `To let them in, approve the code they were sent (${assistantCommand('pair list')}), or add "${id}" to channels.${this.#channel}.allowFrom and start again.`,
    });
  }
}
