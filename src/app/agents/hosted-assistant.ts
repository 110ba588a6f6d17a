import type { GuestState } from '../../channels/shared/guests.ts';
import { backoffMs } from '../../util/backoff.ts';
import { deadline, raceAbort, sleep, type Clock } from '../../util/clock.ts';
import { errorMessage } from '../../util/errors.ts';
import type { Logger } from '../../util/log.ts';
import type { Random } from '../../util/random.ts';
import type { Assistant } from '../library/assistant.ts';

const RETRY = { firstMs: 1_000, maxMs: 300_000 };
const STOP_DEADLINE_MS = 9_000;

export interface HostedPorts {
  /** Starts the assistant. Rejects with one sentence; `restart` ends it and starts another. */
  readonly create: (options: { readonly restart: () => void; readonly signal: AbortSignal }) => Promise<Assistant>;
  /** Told before it takes messages, and before it stops. */
  readonly setState: (state: GuestState) => void;
  readonly clock: Clock;
  readonly random: Random;
  /** With the name of the assistant. */
  readonly log: Logger;
}

/** One further assistant of this process: started, started again when it fails or asks for it, and stopped, by itself alone. */
export class HostedAssistant {
  readonly #ports: HostedPorts;
  readonly #stop = new AbortController();
  #state: GuestState = 'starting';
  #detail: string | undefined;
  #assistant: Assistant | undefined;
  #loop: Promise<void> = Promise.resolve();
  /** Ends a wait for the next attempt. */
  #poke = new AbortController();

  constructor(ports: HostedPorts) {
    this.#ports = ports;
  }

  get state(): GuestState {
    return this.#state;
  }

  /** One sentence about what is wrong; undefined: nothing is. */
  get detail(): string | undefined {
    return this.#detail;
  }

  /** Resolves when it runs, or its first attempt failed. Never rejects. */
  start(): Promise<void> {
    return new Promise<void>((tried) => {
      this.#loop = this.#supervise(tried).finally(tried);
    });
  }

  /** Takes up its configuration: a running one reloads it, one that could not start tries again now. */
  async reload(): Promise<void> {
    if (this.#assistant === undefined) this.#poke.abort();
    else await this.#assistant.reload();
  }

  /** Its next start counts as one after a crash. */
  markCrashed(): void {
    this.#assistant?.markCrashed();
  }

  /** Stops it; resolves when it has stopped, within 9 s. */
  async stop(): Promise<void> {
    if (!this.#stop.signal.aborted) {
      this.#set('away');
      this.#stop.abort(new Error('the assistant stops'));
      this.#poke.abort();
    }
    await this.#loop;
  }

  async #supervise(tried: () => void): Promise<void> {
    const { clock, random, log } = this.#ports;
    for (let failures = 1; !this.#stop.signal.aborted; failures += 1) {
      this.#set('starting');
      try {
        const restart = Promise.withResolvers<void>();
        const { signal } = this.#stop;
        this.#assistant = await this.#ports.create({ restart: restart.resolve, signal });
        failures = 0;
        this.#set('running');
        log.info('agents: assistant running');
        tried();
        await raceAbort(restart.promise, signal).catch(() => {});
        this.#set('away');
        await this.#close();
        continue;
      } catch (error) {
        if (this.#stop.signal.aborted) return;
        const reason = errorMessage(error);
        if (this.#detail !== reason) log.error('agents: assistant did not start, trying again', { reason });
        this.#set('failed', reason);
      }
      tried();
      this.#poke = new AbortController();
      await sleep(clock, backoffMs(failures, RETRY, random), this.#poke.signal).catch(() => {});
    }
  }

  async #close(): Promise<void> {
    const { clock, log } = this.#ports;
    const closing = this.#assistant;
    this.#assistant = undefined;
    using limit = deadline(clock, STOP_DEADLINE_MS, 'stopping');
    try {
      await raceAbort(closing?.close() ?? Promise.resolve(), limit.signal);
    } catch (error) {
      log.error('agents: assistant did not stop cleanly', { reason: errorMessage(error) });
    }
  }

  #set(state: GuestState, detail?: string): void {
    if (this.#stop.signal.aborted) return;
    this.#state = state;
    if (state !== 'starting') this.#detail = detail;
    this.#ports.setState(state);
  }
}
