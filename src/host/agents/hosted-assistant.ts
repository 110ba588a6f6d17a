import type { GuestState } from '../../core/channels/shared/guests.ts';
import { backoffMs } from '../../core/util/backoff.ts';
import { deadline, raceAbort, sleep, type Clock } from '../../core/util/clock.ts';
import { errorMessage } from '../../core/util/errors.ts';
import type { Logger } from '../../core/util/log.ts';
import type { Random } from '../../core/util/random.ts';
import type { Assistant } from '../../core/library/assistant.ts';

const RETRY = { firstMs: 1_000, maxMs: 300_000 };
const STOP_DEADLINE_MS = 9_000;

export interface CreateOptions {
  readonly restart: () => void;
  readonly signal: AbortSignal;
  /** Call it with a sentence when the start waits for something that a person has to do. */
  readonly failing: (reason: string) => void;
}

export interface HostedPorts {
  /** What it is, at the beginning of log lines. @default 'agents: assistant' */
  readonly what?: string;
  /** Starts the assistant. Rejects with one sentence; `restart` ends it and starts another. */
  readonly create: (options: CreateOptions) => Promise<Assistant>;
  /** Told before it takes messages, and before it stops. */
  readonly setState: (state: GuestState) => void;
  readonly clock: Clock;
  readonly random: Random;
  /** With the name of the assistant. */
  readonly log: Logger;
}

/** One of several assistants of this process: started, started again when it fails or asks for it, and stopped, by itself alone. */
export class HostedAssistant {
  readonly #ports: HostedPorts;
  readonly #stop = new AbortController();
  #state: GuestState = 'starting';
  #detail: string | undefined;
  #assistant: Assistant | undefined;
  #loop: Promise<void> = Promise.resolve();
  #turnsMs: number | undefined;
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

  /** Undefined: it does not run. */
  get assistant(): Assistant | undefined {
    return this.#assistant;
  }

  /** Resolves when it runs, or its first attempt failed. Never rejects. */
  start(): Promise<void> {
    return new Promise<void>((tried) => {
      this.#loop = this.#supervise(tried).finally(tried);
    });
  }

  /** Takes up its configuration: a running one reloads it, one that could not start tries again now. */
  async reload(): Promise<void> {
    if (this.#assistant === undefined) this.tryNow();
    else await this.#assistant.reload();
  }

  /** One that waits for its next attempt to start makes it now. */
  tryNow(): void {
    this.#poke.abort();
  }

  /** Its next start counts as one after a crash. */
  markCrashed(): void {
    this.#assistant?.markCrashed();
  }

  /** Stops it; resolves when it has stopped, within 9 s and the time that its running turns get. @default 3 s, of the 9 */
  async stop(turnsMs?: number): Promise<void> {
    this.#turnsMs ??= turnsMs;
    if (!this.#stop.signal.aborted) {
      this.#set('away');
      this.#stop.abort(new Error('the assistant stops'));
      this.#poke.abort();
    }
    await this.#loop;
  }

  async #supervise(tried: () => void): Promise<void> {
    const { clock, random, log, what = 'agents: assistant' } = this.#ports;
    for (let failures = 1; !this.#stop.signal.aborted; failures += 1) {
      this.#set('starting');
      try {
        const restart = Promise.withResolvers<void>();
        const { signal } = this.#stop;
        const failing = (reason: string): void => {
          this.#fails(reason);
          tried();
        };
        this.#assistant = await this.#ports.create({ restart: restart.resolve, signal, failing });
        failures = 0;
        this.#set('running');
        log.info(`${what} running`);
        tried();
        await raceAbort(restart.promise, signal).catch(() => {});
        this.#set('away');
        await this.#close();
        continue;
      } catch (error) {
        if (this.#stop.signal.aborted) return;
        this.#fails(errorMessage(error));
      }
      tried();
      this.#poke = new AbortController();
      await sleep(clock, backoffMs(failures, RETRY, random), this.#poke.signal).catch(() => {});
    }
  }

  #fails(reason: string): void {
    const { log, what = 'agents: assistant' } = this.#ports;
    if (this.#detail !== reason) log.error(`${what} did not start, trying again`, { reason });
    this.#set('failed', reason);
  }

  async #close(): Promise<void> {
    const { clock, log, what = 'agents: assistant' } = this.#ports;
    const turnsMs = this.#turnsMs;
    const closing = this.#assistant;
    this.#assistant = undefined;
    using limit = deadline(clock, STOP_DEADLINE_MS + (turnsMs ?? 0), 'stopping');
    try {
      await raceAbort(closing?.close(turnsMs === undefined ? {} : { turnsMs }) ?? Promise.resolve(), limit.signal);
    } catch (error) {
      log.error(`${what} did not stop cleanly`, { reason: errorMessage(error) });
    }
  }

  #set(state: GuestState, detail?: string): void {
    if (this.#stop.signal.aborted) return;
    this.#state = state;
    if (state !== 'starting') this.#detail = detail;
    this.#ports.setState(state);
  }
}
