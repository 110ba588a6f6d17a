import { randomUUID } from 'node:crypto';
import type {
  AssistantPort,
  CallOptions,
  Conversation,
  ConversationOptions,
  SendInput,
  TurnSummary,
} from '../core/gateway/assistant-port.ts';
import type { RequestName, RequestParams, RequestResult } from '../core/gateway/operations/operations.ts';
import { assistantCommand } from '../core/util/assistant-command.ts';
import { backoffMs } from '../core/util/backoff.ts';
import { raceAbort, sleep, type Clock } from '../core/util/clock.ts';
import { AppError } from '../core/util/errors.ts';

type Connection = AssistantPort & AsyncDisposable;

export interface ReconnectOptions {
  readonly clock: Clock;
  /** Undefined while no assistant listens. */
  readonly connect: () => Promise<Connection | undefined>;
}

/** Learns what becomes of the connection. */
export interface ConnectionWatcher {
  /** Called when the connection is lost, is still lost after a while, or is there again (`isThere`). */
  readonly news: (text: string, isThere: boolean) => void;
}

/** After this time without an assistant the watcher learns how to start one. */
const HINT_MS = 30_000;
const BACKOFF = { firstMs: 500, maxMs: 5_000 };

/** A message was stopped before an assistant could be reached. Has its text, so that it is not lost. */
export class NotSentError extends Error {
  readonly text: string;

  constructor(text: string, cause: unknown) {
    super(`Not sent: ${text}`, { cause });
    this.name = 'NotSentError';
    this.text = text;
  }
}

/**
 * A connection to a running assistant that may go away and come back. Reports a loss at once and reconnects until it is
 * disposed of. Sends messages that were not acknowledged again under the same id, so that none is lost and none is answered
 * twice; one that is stopped meanwhile rejects with `NotSentError`.
 */
export class ReconnectingAssistant implements AssistantPort, AsyncDisposable {
  readonly #options: ReconnectOptions;
  readonly #open = new Set<{ readonly follow: (port: Connection) => void }>();
  readonly #closing = new AbortController();
  #current: Promise<Connection>;
  /** Undefined while it is lost. */
  #port: Connection | undefined;
  #watcher: ConnectionWatcher | undefined;

  constructor(first: Connection, options: ReconnectOptions) {
    this.#options = options;
    this.#current = Promise.resolve(first);
    this.#follow(first);
  }

  watch(watcher: ConnectionWatcher): void {
    this.#watcher = watcher;
  }

  async call<Name extends RequestName>(
    name: Name,
    input: RequestParams<Name>,
    by?: CallOptions,
  ): Promise<RequestResult<Name>> {
    return await (await this.#current).call(name, input, by);
  }

  open(session: string, options?: ConversationOptions): Conversation {
    let last: { readonly port: Connection; readonly at: Conversation } | undefined;
    const follow = (port: Connection): Conversation => {
      if (last?.port !== port) last = { port, at: port.open(session, options) };
      return last.at;
    };
    const entry = { follow };
    this.#open.add(entry);
    if (this.#port !== undefined) follow(this.#port);
    return {
      send: (input, { signal } = {}) => this.#send(follow, input, signal),
      [Symbol.dispose]: () => {
        this.#open.delete(entry);
        last?.at[Symbol.dispose]();
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    const port = await this.#current.catch(() => undefined);
    await port?.[Symbol.asyncDispose]();
  }

  async #send(
    follow: (port: Connection) => Conversation,
    input: SendInput,
    signal: AbortSignal | undefined,
  ): Promise<TurnSummary> {
    const message = { id: randomUUID(), ...input };
    for (;;) {
      const port = await this.#reached(input, signal);
      try {
        return await follow(port).send(message, signal === undefined ? {} : { signal });
      } catch (error) {
        if (!isLost(error) || port.lost === undefined) throw error;
        // `#current` changes when the loss is noticed, which may be in the next moment.
        await port.lost;
      }
    }
  }

  async #reached(input: SendInput, signal: AbortSignal | undefined): Promise<Connection> {
    const until = signal === undefined ? this.#closing.signal : AbortSignal.any([signal, this.#closing.signal]);
    try {
      return await raceAbort(this.#current, until);
    } catch (error) {
      throw new NotSentError(input.text, error);
    }
  }

  #follow(port: Connection): void {
    this.#port = port;
    void port.lost?.then(() => {
      if (this.#closing.signal.aborted) return;
      this.#port = undefined;
      const gone = 'The running assistant is gone. I keep trying to reach it; what you send meanwhile waits.';
      this.#watcher?.news(gone, false);
      this.#current = this.#again();
      this.#current.catch(() => {});
    });
  }

  async #again(): Promise<Connection> {
    const { clock, connect } = this.#options;
    const since = clock.monotonic();
    let isTold = false;
    for (let failures = 1; ; failures += 1) {
      await sleep(clock, backoffMs(failures, BACKOFF), this.#closing.signal);
      // An assistant that does not answer yet counts as none.
      const port = await connect().catch(() => undefined);
      if (port !== undefined) {
        this.#follow(port);
        for (const entry of this.#open) entry.follow(port);
        this.#watcher?.news('The assistant is back.', true);
        return port;
      }
      if (isTold || clock.monotonic() - since < HINT_MS) continue;
      isTold = true;
      this.#watcher?.news(`It is still gone. To start it in another terminal: ${assistantCommand('gateway')}`, false);
    }
  }
}

function isLost(error: unknown): boolean {
  return error instanceof AppError && error.code === 'connection-lost';
}
