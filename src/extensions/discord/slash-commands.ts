import { isDeepStrictEqual } from 'node:util';
import { type Clock, cut, z } from '../../core/api.ts';
import { ON_MESSAGE, type MenuCommand, type OutgoingPart } from '../../core/api-channels.ts';
import type { RequestBody } from './api.ts';
import type { Address } from './channel-cache.ts';

/** What Discord takes for a command's name; others can be typed all the same. */
const NAME = /^[-_a-z0-9]{1,32}$/u;
const LONGEST_DESCRIPTION = 100;
const MOST = 100;
const CHAT_INPUT = 1;
const ON_A_MESSAGE = 3;
const STRING = 3;
/** Shown to those who run a server; everywhere else the assistant itself says who may. */
const NOBODY_ELSE = '0';

/** An answer may be put off for 15 minutes. */
const HOLDS_MS = 14 * 60_000;
const MOST_WAITING = 200;

/** The commands as Discord's menus show them: that of the field, and that of a message. */
export function menuOf(commands: readonly MenuCommand[]): readonly RequestBody[] {
  const inMenus = commands.some(({ name }) => name === ON_MESSAGE.command)
    ? [{ type: ON_A_MESSAGE, name: ON_MESSAGE.label }]
    : [];
  const typed = commands
    .filter(({ name }) => NAME.test(name))
    .slice(0, MOST)
    .map(({ name, description, isOwners }) => ({
      type: CHAT_INPUT,
      name,
      description: cut(description, LONGEST_DESCRIPTION),
      options: [{ type: STRING, name: 'text', description: 'What comes after the command', required: false }],
      ...(isOwners ? { default_member_permissions: NOBODY_ELSE } : {}),
    }));
  return [...typed, ...inMenus];
}

const listed = z.array(
  z.object({
    type: z.number().default(CHAT_INPUT),
    name: z.string(),
    description: z.string().default(''),
    options: z
      .array(
        z.object({ type: z.number(), name: z.string(), description: z.string(), required: z.boolean().default(false) }),
      )
      .default([]),
    default_member_permissions: z.string().nullish().default(null),
  }),
);

/** Whether Discord has this menu already; it limits how often a day commands may be registered. `now`: as it listed them. */
export function hasMenu(now: unknown, menu: readonly RequestBody[]): boolean {
  const [is, shall] = [now, menu].map((list) =>
    listed.safeParse(list).data?.toSorted((a, b) => a.type - b.type || (a.name < b.name ? -1 : 1)),
  );
  return is !== undefined && isDeepStrictEqual(is, shall);
}

interface Deferred {
  readonly token: string;
  /** Whether Discord shows that an answer will come; nothing can take its place before. */
  readonly shown: Promise<boolean>;
  /** By `Clock.now`. */
  readonly until: number;
  /** A message stands in its place; further ones follow below it. */
  isFilled: boolean;
}

/** Where an answer is awaited. `onlyTo`: by one person alone, in an interaction with this id. */
type Place = Address & Pick<OutgoingPart, 'onlyTo'>;

/**
 * Commands from the menu whose answer was put off: the next message to their chat takes its place. One that a single person
 * sees waits for its own answer, and for all parts of it. Their tokens live in memory alone; after a restart an answer is a
 * message of its own.
 */
export class Deferrals {
  readonly #waiting = new Map<string, Deferred>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  put(place: Place, token: string, shown: Promise<boolean>): void {
    const key = keyOf(place);
    this.#waiting.delete(key);
    this.#waiting.set(key, { token, shown, until: this.#clock.now() + HOLDS_MS, isFilled: false });
    const [oldest] = this.#waiting.keys();
    if (this.#waiting.size > MOST_WAITING && oldest !== undefined) this.#waiting.delete(oldest);
  }

  /** The command that waits there. */
  async waiting(place: Place): Promise<Pick<Deferred, 'token' | 'isFilled'> | undefined> {
    const found = this.#waiting.get(keyOf(place));
    if (found === undefined) return undefined;
    if (found.until > this.#clock.now() && (await found.shown)) return found;
    this.over(place, found.token);
    return undefined;
  }

  /** A message took the place. */
  filled(place: Place, token: string): void {
    const found = this.#waiting.get(keyOf(place));
    if (found?.token !== token) return;
    if (place.onlyTo === undefined) this.over(place, token);
    else found.isFilled = true;
  }

  /** Nothing more can take the place. */
  over(place: Place, token: string): void {
    if (this.#waiting.get(keyOf(place))?.token === token) this.#waiting.delete(keyOf(place));
  }

  /** Removes what is still waiting; returns the tokens of those in whose place nothing stands. */
  takeAll(): readonly string[] {
    const tokens = [...this.#waiting.values()].filter(({ isFilled }) => !isFilled).map(({ token }) => token);
    this.#waiting.clear();
    return tokens;
  }
}

function keyOf({ chatId, threadId, onlyTo }: Place): string {
  return JSON.stringify(onlyTo === undefined ? [chatId, threadId] : onlyTo);
}
