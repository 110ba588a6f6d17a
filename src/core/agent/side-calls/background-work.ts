import type { App } from '../../app.ts';
import { errorMessage } from '../../util/errors.ts';
import { Slots } from '../../util/slots.ts';

interface WorkFacts {
  /** Most tasks that run at the same time. */
  readonly atOnce: number;
  /** Name of a task in the log, as `component: task`. */
  readonly name: string;
  /** Called when a task of this session has failed. */
  readonly onFailure: (sessionKey: string) => void;
}

/** Runs tasks that no one waits for: one after another within a session, at most `atOnce` in all. */
export class BackgroundWork implements AsyncDisposable {
  readonly #app: App;
  readonly #facts: WorkFacts;
  readonly #slots: Slots;
  readonly #shutdown = new AbortController();
  /** The end of the newest task in each session's lane. */
  readonly #lanes = new Map<string, Promise<void>>();
  readonly #later = new Map<string, Disposable>();
  readonly #tasks = new Set<Promise<void>>();

  constructor(app: App, facts: WorkFacts) {
    this.#app = app;
    this.#facts = facts;
    this.#slots = new Slots(facts.atOnce);
  }

  /** Aborts when the process stops. */
  get signal(): AbortSignal {
    return this.#shutdown.signal;
  }

  /** Runs a task after the earlier ones of its session, without waiting for a slot. Settles as the task does. */
  inLane<T>(key: string, work: () => Promise<T>): Promise<T> {
    const run = (this.#lanes.get(key) ?? Promise.resolve()).then(work);
    const end: Promise<void> = run
      .then(
        () => {},
        () => {},
      )
      .then(() => {
        if (this.#lanes.get(key) === end) this.#lanes.delete(key);
      });
    this.#lanes.set(key, end);
    return run;
  }

  /** As `inLane`, but also waits for a free slot. Resolves when the task has ended, even if it failed. */
  background(key: string, work: () => Promise<void>): Promise<void> {
    return this.beside(key, () => this.inLane(key, () => this.#slots.run(work, this.signal)));
  }

  /** Runs a task at once, in no lane. Resolves when the task has ended; a failure is logged and reported to `onFailure`. */
  beside(key: string, work: () => Promise<void>): Promise<void> {
    const { name, onFailure } = this.#facts;
    const task: Promise<void> = work()
      .catch((error: unknown) => {
        if (this.signal.aborted) return;
        this.#app.log.error(`${name} failed`, { session: key, reason: errorMessage(error) });
        onFailure(key);
      })
      .finally(() => void this.#tasks.delete(task));
    this.#tasks.add(task);
    return task;
  }

  /** Runs a task with `background` after `ms`. Replaces the task that this session had planned with `later` before. */
  later(key: string, ms: number, work: () => Promise<void>): void {
    if (this.signal.aborted) return;
    this.#later.get(key)?.[Symbol.dispose]();
    const timer = this.#app.clock.timer(ms, () => {
      this.#later.delete(key);
      void this.background(key, work);
    });
    this.#later.set(key, timer);
  }

  /** Resolves when no task runs or waits in a lane. Does not wait for tasks planned with `later`. */
  async idle(): Promise<void> {
    while (this.#tasks.size + this.#lanes.size > 0) await Promise.allSettled([...this.#tasks, ...this.#lanes.values()]);
  }

  /** Aborts `signal`, drops tasks planned with `later`, and waits for the tasks that run. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#shutdown.abort(new Error('the process is stopping'));
    for (const timer of this.#later.values()) timer[Symbol.dispose]();
    this.#later.clear();
    await this.idle();
  }
}
