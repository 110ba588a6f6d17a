import type { Clock } from '../../util/clock.ts';
import { oneLine } from '../../util/text.ts';
import type { ToolContext } from '../tool.ts';
import type { Progress } from './connection.ts';
import type { Elicitation } from './elicitation.ts';

/** The time a call had is over. */
export class CallDeadline extends Error {
  constructor(seconds: number) {
    super(`did not answer within ${seconds} s`);
    this.name = 'CallDeadline';
  }
}

const PROGRESS_EVERY_MS = 300;

/** A call that a server works on: its deadline, which stands still while a person is asked, and who hears of it. */
export class RunningCall implements Disposable {
  readonly #server: string;
  readonly #clock: Clock;
  readonly #context: ToolContext;
  readonly #limit = new AbortController();
  readonly #seconds: number;
  readonly #link: ReturnType<typeof linked>;
  #leftMs: number;
  #since = 0;
  #timer: Disposable | undefined;
  #shownAt = -Infinity;
  /** Aborts at the deadline and when the turn is stopped. */
  readonly signal: AbortSignal;

  constructor(options: {
    readonly server: string;
    readonly seconds: number;
    readonly clock: Clock;
    readonly context: ToolContext;
  }) {
    this.#server = options.server;
    this.#clock = options.clock;
    this.#context = options.context;
    this.#seconds = options.seconds;
    this.#leftMs = options.seconds * 1000;
    this.#link = linked(options.context.signal, this.#limit.signal);
    this.signal = this.#link.signal;
  }

  /** Its time runs from here on. */
  start(): void {
    this.#since = this.#clock.monotonic();
    this.#timer = this.#clock.timer(this.#leftMs, () => this.#limit.abort(new CallDeadline(this.#seconds)), {
      keepAlive: true,
    });
  }

  progress({ progress, total, message = '' }: Progress): void {
    const now = this.#clock.monotonic();
    if (now - this.#shownAt < PROGRESS_EVERY_MS) return;
    this.#shownAt = now;
    const share = total === undefined || total <= 0 ? String(progress) : `${progress} of ${total}`;
    this.#context.people.progress(oneLine(`${this.#server}: ${message === '' ? share : `${message} (${share})`}`, 80));
  }

  /** Asks the person behind the turn; no answer and no one to ask are a no. */
  async ask({ message, suggested }: Elicitation): Promise<boolean> {
    this.#pause();
    try {
      const answer = Object.keys(suggested).length === 0 ? '(an empty form)' : JSON.stringify(suggested, null, 2);
      const { approved } = await this.#context.people.approve({
        title: `Answer the MCP server ${this.#server}`,
        detail: `It asks: ${message}\nThe answer would be: ${answer}`,
        reason: 'an MCP server asks this in the middle of a call',
      });
      return approved;
    } finally {
      this.start();
    }
  }

  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
    this.#link[Symbol.dispose]();
  }

  #pause(): void {
    this.#timer?.[Symbol.dispose]();
    this.#leftMs = Math.max(1, this.#leftMs - (this.#clock.monotonic() - this.#since));
  }
}

/**
 * Like `AbortSignal.any`, but detached from its signals when disposed of: the MCP SDK keeps listening and would
 * otherwise cancel finished requests.
 */
export function linked(...signals: readonly AbortSignal[]): { readonly signal: AbortSignal } & Disposable {
  const controller = new AbortController();
  const listeners = signals.map((signal) => {
    const onAbort = (): void => controller.abort(signal.reason);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    return { signal, onAbort };
  });
  return {
    signal: controller.signal,
    [Symbol.dispose]: () => {
      for (const { signal, onAbort } of listeners) signal.removeEventListener('abort', onAbort);
    },
  };
}
