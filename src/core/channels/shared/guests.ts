import { raceAbort, type Clock } from '../../util/clock.ts';
import type { ChannelContext } from '../channel.ts';
import { Routes, type Route } from './routes.ts';

/** A message waits this long for an assistant that is starting. */
const PATIENCE_MS = 30_000;

/** `away`: it will be back in a moment. `failed`: it does not run, and nobody knows when it will. */
export type GuestState = 'starting' | 'running' | 'away' | 'failed';

/** A further assistant on a channel. */
export interface Guest {
  readonly context: ChannelContext;
  /** Aborts before its journal closes. */
  readonly gone: AbortSignal;
  /** Chats that it could not reach since the channel was not connected. */
  readonly missed: Set<string>;
}

/** The further assistants: what each answers, how it is, and its channels while it takes messages. */
export class Guests {
  readonly #clock: Clock;
  #routes: readonly Route[] = [];
  #byPlace = new Routes([]);
  readonly #states = new Map<string, GuestState>();
  readonly #guests = new Map<string, Map<string, Guest>>();
  readonly #lives = new Map<string, AbortController>();
  /** Assistants that were waited for in vain since their state changed last: the other chats do not wait for them again. */
  readonly #overdue = new Set<string>();
  /** Aborts at each change, and is replaced. */
  #changes = new AbortController();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Replaces what the assistants answer. Messages that were accepted before stay where they are. */
  setRoutes(routes: readonly Route[]): void {
    this.#routes = routes;
    this.#byPlace = new Routes(routes);
    this.#changed();
  }

  /** Sets how an assistant is; one that is away or failed takes no message from now on. */
  setState(name: string, state: GuestState): void {
    if (this.#states.get(name) !== state) this.#overdue.delete(name);
    this.#states.set(name, state);
    if (state === 'away' || state === 'failed') {
      this.#lives.get(name)?.abort(new Error('the assistant stops'));
      this.#lives.delete(name);
      this.#guests.delete(name);
    }
    this.#changed();
  }

  /** The channels that an assistant has. */
  channelsOf(name: string): readonly string[] {
    return [...new Set(this.#routes.flatMap((route) => (route.assistant === name ? [route.channel] : [])))];
  }

  /** The name of the assistant that answers a chat; null: the main one. */
  ownerOf(channel: string, chatId: string): string | null {
    return this.#byPlace.ownerOf(channel, chatId);
  }

  /** An assistant takes messages of a channel until it is disposed of, or its state says otherwise. */
  attach(name: string, channel: string, context: ChannelContext): Guest & Disposable {
    const life = this.#lives.get(name) ?? new AbortController();
    this.#lives.set(name, life);
    const channels = this.#guests.get(name) ?? new Map<string, Guest>();
    this.#guests.set(name, channels);
    const own = { context, gone: life.signal, missed: new Set<string>() };
    channels.set(channel, own);
    this.#changed();
    const dispose = (): void => {
      if (channels.get(channel) === own) channels.delete(channel);
    };
    return { ...own, [Symbol.dispose]: dispose };
  }

  /** The assistant of this name on a channel; undefined while it takes no messages. */
  get(name: string, channel: string): Guest | undefined {
    return this.#guests.get(name)?.get(channel);
  }

  /** Those that take messages of a channel. */
  on(channel: string): readonly (readonly [string, Guest])[] {
    return [...this.#guests].flatMap(([name, channels]) => {
      const guest = channels.get(channel);
      return guest === undefined ? [] : [[name, guest] as const];
    });
  }

  /** The assistant of this name as soon as it takes messages; null: it does not run. Rejects when `signal` aborts. */
  async ready(name: string, channel: string, signal?: AbortSignal): Promise<Guest | null> {
    const isWaitedFor = (): boolean => this.get(name, channel) === undefined && this.#isComing(name);
    await this.#while(isWaitedFor, () => [name], signal);
    return this.get(name, channel) ?? null;
  }

  /** Resolves when no assistant of a channel is about to take messages. Rejects when `signal` aborts. */
  settled(channel: string, signal?: AbortSignal): Promise<void> {
    const names = new Set(this.#routes.flatMap((route) => (route.channel === channel ? [route.assistant] : [])));
    const coming = (): readonly string[] =>
      [...names].filter((name) => this.get(name, channel) === undefined && this.#isComing(name));
    return this.#while(() => coming().length > 0, coming, signal);
  }

  #isComing(name: string): boolean {
    const state = this.#states.get(name) ?? 'failed';
    return (state === 'starting' || state === 'away') && !this.#overdue.has(name);
  }

  /** Resolves when it is no longer so, or after 30 s; then those that were waited for are overdue. */
  async #while(
    isSo: () => boolean,
    waitedFor: () => readonly string[],
    signal: AbortSignal | undefined,
  ): Promise<void> {
    if (!isSo()) return;
    using _ = this.#clock.timer(PATIENCE_MS, () => {
      for (const name of waitedFor()) this.#overdue.add(name);
      this.#changed();
    });
    while (isSo()) {
      const { signal: changed } = this.#changes;
      const change = new Promise<void>((resolve) => changed.addEventListener('abort', () => resolve(), { once: true }));
      await (signal === undefined ? change : raceAbort(change, signal));
    }
  }

  #changed(): void {
    const before = this.#changes;
    this.#changes = new AbortController();
    before.abort();
  }
}
