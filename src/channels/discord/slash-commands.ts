import type { Clock } from '../../util/clock.ts';
import type { MenuCommand } from '../channel.ts';
import type { RequestBody } from './api.ts';
import type { Address } from './channel-cache.ts';

/** What Discord takes for a command's name; others can be typed all the same. */
const NAME = /^[-_a-z0-9]{1,32}$/u;
const LONGEST_DESCRIPTION = 100;
const MOST = 100;
const CHAT_INPUT = 1;
const STRING = 3;
/** Shown to those who run a server; everywhere else the assistant itself says who may. */
const NOBODY_ELSE = '0';

/** An answer may be put off for 15 minutes. */
const HOLDS_MS = 14 * 60_000;
const MOST_WAITING = 200;

/** The commands as Discord's menu shows them. */
export function menuOf(commands: readonly MenuCommand[]): readonly RequestBody[] {
  return commands
    .filter(({ name }) => NAME.test(name))
    .slice(0, MOST)
    .map(({ name, description, isOwners }) => ({
      type: CHAT_INPUT,
      name,
      description: description.slice(0, LONGEST_DESCRIPTION),
      options: [{ type: STRING, name: 'text', description: 'What comes after the command', required: false }],
      ...(isOwners ? { default_member_permissions: NOBODY_ELSE } : {}),
    }));
}

interface Deferred {
  readonly token: string;
  /** Whether Discord shows that an answer will come; nothing can take its place before. */
  readonly shown: Promise<boolean>;
  /** By `Clock.now`. */
  readonly until: number;
}

/**
 * Commands from the menu whose answer was put off: the next message to their chat takes its place. Their tokens live in
 * memory alone; after a restart an answer is a message of its own.
 */
export class Deferrals {
  readonly #waiting = new Map<string, Deferred>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  put(address: Address, token: string, shown: Promise<boolean>): void {
    const key = keyOf(address);
    this.#waiting.delete(key);
    this.#waiting.set(key, { token, shown, until: this.#clock.now() + HOLDS_MS });
    const [oldest] = this.#waiting.keys();
    if (this.#waiting.size > MOST_WAITING && oldest !== undefined) this.#waiting.delete(oldest);
  }

  /** The token of the command that waits there. */
  async waiting(address: Address): Promise<string | undefined> {
    const found = this.#waiting.get(keyOf(address));
    if (found === undefined) return undefined;
    if (found.until > this.#clock.now() && (await found.shown)) return found.token;
    this.done(address, found.token);
    return undefined;
  }

  done(address: Address, token: string): void {
    if (this.#waiting.get(keyOf(address))?.token === token) this.#waiting.delete(keyOf(address));
  }

  /** Removes and returns the tokens that are still waiting. */
  takeAll(): readonly string[] {
    const tokens = [...this.#waiting.values()].map(({ token }) => token);
    this.#waiting.clear();
    return tokens;
  }
}

function keyOf({ chatId, threadId }: Address): string {
  return JSON.stringify([chatId, threadId]);
}
