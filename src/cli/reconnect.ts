import { randomUUID } from 'node:crypto';
import type {
  AssistantPort,
  AttachedMessage,
  SendInput,
  SendOptions,
  ToolRun,
  TurnSummary,
} from '../gateway/assistant-port.ts';
import type { RequestName, RequestParams, RequestResult } from '../gateway/requests.ts';
import { assistantCommand } from '../util/assistant-command.ts';
import { raceAbort, sleep, type Clock } from '../util/clock.ts';
import { AppError } from '../util/errors.ts';
import { oneLine, plural } from '../util/text.ts';

type Connection = AssistantPort & AsyncDisposable;

export interface ReconnectPorts {
  readonly clock: Clock;
  /** Undefined while no assistant listens. */
  readonly connect: () => Promise<Connection | undefined>;
  /** How long it is tried to reach the assistant again. */
  readonly patienceMs?: number;
}

/** Told what becomes of the connection. */
export interface ConnectionWatcher {
  /** It is lost and tried again, or there again. */
  readonly news: (text: string) => void;
  /** It is given up. */
  readonly over: (text: string) => void;
}

const PATIENCE_MS = 60_000;
const EVERY_MS = 500;
const LONGEST_QUOTE = 200;

/**
 * A running assistant that may go away and come back. Its loss is told at once. Messages that were sent and not
 * acknowledged are sent again, each under an id of its own, so that none is lost and none is answered twice; after
 * `patienceMs` without an assistant they are rejected with `connection-lost` and their text.
 */
export class ReconnectingAssistant implements AssistantPort, AsyncDisposable {
  readonly #ports: ReconnectPorts;
  readonly #attached = new Set<{ readonly attach: (to: Connection) => void }>();
  readonly #closing = new AbortController();
  #current: Promise<Connection>;
  /** Undefined while it is lost. */
  #port: Connection | undefined;
  #watcher: ConnectionWatcher | undefined;

  constructor(first: Connection, ports: ReconnectPorts) {
    this.#ports = ports;
    this.#current = Promise.resolve(first);
    this.#follow(first);
  }

  watch(watcher: ConnectionWatcher): void {
    this.#watcher = watcher;
  }

  async info(): Promise<Awaited<ReturnType<AssistantPort['info']>>> {
    return await (await this.#current).info();
  }

  async tools(): Promise<Awaited<ReturnType<AssistantPort['tools']>>> {
    return await (await this.#current).tools();
  }

  async runTool(run: ToolRun): ReturnType<AssistantPort['runTool']> {
    return await (await this.#current).runTool(run);
  }

  async request<Name extends RequestName>(name: Name, params: RequestParams<Name>): Promise<RequestResult<Name>> {
    return await (await this.#current).request(name, params);
  }

  async send(input: SendInput, options: SendOptions): Promise<TurnSummary> {
    const message = { id: randomUUID(), ...input };
    for (;;) {
      const port = await this.#reached(input, options.signal);
      try {
        return await port.send(message, options);
      } catch (error) {
        if (!isLost(error) || port.lost === undefined) throw error;
        // `#current` changes when the loss is noticed, which may be in the next moment.
        await port.lost;
      }
    }
  }

  attach(session: string, listener: (message: AttachedMessage) => void): Disposable {
    const holder: { at: Disposable | undefined } = { at: undefined };
    const entry = {
      attach: (to: Connection): void => {
        holder.at = to.attach(session, listener);
      },
    };
    this.#attached.add(entry);
    if (this.#port !== undefined) entry.attach(this.#port);
    return {
      [Symbol.dispose]: () => {
        this.#attached.delete(entry);
        holder.at?.[Symbol.dispose]();
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    const port = await this.#current.catch(() => undefined);
    await port?.[Symbol.asyncDispose]();
  }

  async #reached(input: SendInput, signal: AbortSignal | undefined): Promise<Connection> {
    try {
      return await (signal === undefined ? this.#current : raceAbort(this.#current, signal));
    } catch (error) {
      if (!isLost(error)) throw error;
      throw new AppError('connection-lost', `Not sent: ${oneLine(input.text, LONGEST_QUOTE)}`, { cause: error });
    }
  }

  #follow(port: Connection): void {
    this.#port = port;
    void port.lost?.then(() => {
      if (this.#closing.signal.aborted) return;
      this.#port = undefined;
      const { patienceMs = PATIENCE_MS } = this.#ports;
      const seconds = plural(Math.ceil(patienceMs / 1_000), 'second');
      this.#watcher?.news(
        `The running assistant is gone. It is tried again for ${seconds}; what you send meanwhile is kept.`,
      );
      this.#current = this.#again(patienceMs);
      this.#current.catch(() => {});
    });
  }

  async #again(patienceMs: number): Promise<Connection> {
    const { clock, connect } = this.#ports;
    const until = clock.monotonic() + patienceMs;
    while (clock.monotonic() < until) {
      await sleep(clock, EVERY_MS, this.#closing.signal);
      // One that does not answer yet is like none.
      const port = await connect().catch(() => undefined);
      if (port === undefined) continue;
      this.#follow(port);
      for (const entry of this.#attached) entry.attach(port);
      this.#watcher?.news('The assistant is back.');
      return port;
    }
    const how = `Start it with ${assistantCommand('gateway')}, or talk without it: ${assistantCommand('chat')}`;
    this.#watcher?.over(`The assistant did not come back. ${how}`);
    throw new AppError('connection-lost', `The assistant did not come back. ${how}`);
  }
}

function isLost(error: unknown): boolean {
  return error instanceof AppError && error.code === 'connection-lost';
}
