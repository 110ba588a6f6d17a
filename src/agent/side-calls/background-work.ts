import type { Clock } from '../../util/clock.ts';
import { errorMessage } from '../../util/errors.ts';
import type { Logger } from '../../util/log.ts';
import { Slots } from '../../util/slots.ts';

export interface BackgroundWorkOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** How much of it runs side by side. */
  readonly atOnce: number;
  /** Of one piece of work, for the log. */
  readonly name: string;
  /** Called for a session some of whose work failed. */
  readonly onFailure: (sessionKey: string) => void;
}

/** Work for sessions that nobody waits for: one piece after another in each session, a few side by side in all. */
export class BackgroundWork implements AsyncDisposable {
  readonly #options: BackgroundWorkOptions;
  readonly #slots: Slots;
  readonly #shutdown = new AbortController();
  /** By session, the end of its line. */
  readonly #lines = new Map<string, Promise<void>>();
  readonly #later = new Map<string, Disposable>();
  readonly #tasks = new Set<Promise<void>>();

  constructor(options: BackgroundWorkOptions) {
    this.#options = options;
    this.#slots = new Slots(options.atOnce);
  }

  /** Aborts when the process stops. */
  get signal(): AbortSignal {
    return this.#shutdown.signal;
  }

  /** Does work in a session's line now, whatever else runs; rejects as it does. */
  inLine<T>(key: string, work: () => Promise<T>): Promise<T> {
    const run = (this.#lines.get(key) ?? Promise.resolve()).then(work);
    const end: Promise<void> = run
      .then(
        () => {},
        () => {},
      )
      .then(() => {
        if (this.#lines.get(key) === end) this.#lines.delete(key);
      });
    this.#lines.set(key, end);
    return run;
  }

  /** Does work in a session's line when a slot is free. Resolves when it is over, also when it failed. */
  background(key: string, work: () => Promise<void>): Promise<void> {
    return this.beside(key, () => this.inLine(key, () => this.#slots.run(work, this.signal)));
  }

  /** Does work at once, in no line. Resolves when it is over, also when it failed. */
  beside(key: string, work: () => Promise<void>): Promise<void> {
    const { log, name, onFailure } = this.#options;
    const task: Promise<void> = work()
      .catch((error: unknown) => {
        if (this.signal.aborted) return;
        log.error(`${name} failed`, { session: key, reason: errorMessage(error) });
        onFailure(key);
      })
      .finally(() => void this.#tasks.delete(task));
    this.#tasks.add(task);
    return task;
  }

  /** Does work in the background after a while; what was to be done later for this session before is not done. */
  later(key: string, ms: number, work: () => Promise<void>): void {
    if (this.signal.aborted) return;
    this.#later.get(key)?.[Symbol.dispose]();
    const timer = this.#options.clock.timer(ms, () => {
      this.#later.delete(key);
      void this.background(key, work);
    });
    this.#later.set(key, timer);
  }

  /** Resolves when nothing is under way any more; what is to be done later is not waited for. */
  async idle(): Promise<void> {
    while (this.#tasks.size + this.#lines.size > 0) await Promise.allSettled([...this.#tasks, ...this.#lines.values()]);
  }

  /** Aborts and waits for what is under way. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#shutdown.abort(new Error('the process is stopping'));
    for (const timer of this.#later.values()) timer[Symbol.dispose]();
    this.#later.clear();
    await this.idle();
  }
}
