import { existsSync } from 'node:fs';
import { chmod, rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { systemClock, type Clock } from '../util/clock.ts';
import { AppError, errorMessage } from '../util/errors.ts';
import type { Logger } from '../util/log.ts';
import {
  FIRST_PROTOCOL,
  PROTOCOL,
  LineReader,
  clientFrame,
  decodeFrame,
  encodeFrame,
  type ClientFrame,
  type ServerFrame,
} from './control-wire.ts';

/** `showsRuns`: the line says what runs or ran, of which only configured secrets may be missing. */
export type RedactFrame = (line: string, options: { readonly showsRuns: boolean }) => string;

/** What a handler may do besides returning its result. */
export interface RequestContext {
  /** Aborts when the client says so, goes away, or the server ends. */
  readonly signal: AbortSignal;
  /** Tells the client. With a `key`, only the newest of that key is kept while the client is slow to read. */
  readonly emit: (event: unknown, key?: string) => void;
  /**
   * Asks the client; rejects when the request or `signal` aborts. `verbatim`: it is sent as it is, for what the client
   * puts into a file.
   */
  readonly ask: (question: unknown, signal: AbortSignal, options?: { readonly verbatim: boolean }) => Promise<unknown>;
}

/** Why a request aborts whose client went away. */
export class ClientGone extends Error {
  constructor() {
    super('the client went away');
    this.name = 'AbortError';
  }
}

export type Handler = (params: unknown, context: RequestContext) => Promise<unknown>;

/** For a program that was started before the assistant was upgraded. */
export const OTHER_VERSION = 'This command has another version than the assistant. End it and run it again.';

/** Between two looks at the socket, ms. */
const LOOK_MS = 5_000;
const LONGEST_LINE = 4_000_000;
/** Bytes that a client may leave unread before it is closed. */
const MOST_UNREAD = 1_048_576;
/** Bytes waiting above which keyed events are held back. */
const SLOW = 65_536;
const MOST_REQUESTS = 256;

/**
 * Listens at `path` (mode 0600) until disposed of. An existing socket counts as a leftover and is replaced, because
 * the caller holds the lock of the home.
 */
export async function serveControl(options: {
  readonly path: string;
  readonly version: string;
  readonly handlers: Readonly<Record<string, Handler>>;
  readonly log: Logger;
  /** @default the system's */
  readonly clock?: Clock;
  /** Takes secrets out of a line that is sent, which is JSON and stays it. @default nothing is taken out */
  readonly redact?: RedactFrame;
  /** Whether the answer to a request says what runs or ran. @default none does */
  readonly showsRuns?: (method: string, params: unknown) => boolean;
}): Promise<AsyncDisposable> {
  const { path, handlers, log, clock = systemClock, redact = (line) => line, showsRuns = () => false } = options;
  const connections = new Set<Connection>();
  const listen = async (): Promise<Server> => {
    const server = createServer((socket) => {
      const connection = new Connection(socket, { handlers, log, redact, showsRuns });
      connections.add(connection);
      socket.on('close', () => connections.delete(connection));
      connection.write({ hello: { protocol: FIRST_PROTOCOL, version: options.version, speaks: PROTOCOL } });
    });
    await rm(path, { force: true });
    await new Promise<void>((resolve, reject) => {
      server.once('error', (cause) =>
        reject(new AppError('control-socket', `Could not listen at ${path}: ${errorMessage(cause)}.`, { cause })),
      );
      server.listen(path, resolve);
    });
    await chmod(path, 0o600);
    server.on('error', (error) => log.error('control: socket failed', { error }));
    return server;
  };
  let server = await listen();
  let timer: Disposable | undefined;
  let looking = Promise.resolve();
  const look = async (): Promise<void> => {
    if (existsSync(path)) return;
    log.warn('control: the socket was removed, and is made again', { path });
    // Those who are connected stay so.
    server.close();
    server = await listen();
  };
  const wait = (): void => {
    timer = clock.timer(LOOK_MS, () => {
      looking = look()
        .catch((error: unknown) => log.warn('control: socket not made again', { reason: errorMessage(error) }))
        .then(wait);
    });
  };
  wait();
  return {
    [Symbol.asyncDispose]: async () => {
      await looking;
      timer?.[Symbol.dispose]();
      const closed = new Promise((resolve) => server.close(resolve));
      await Promise.all([...connections].map((connection) => connection.end()));
      await closed;
    },
  };
}

interface Request {
  readonly controller: AbortController;
  readonly answers: Map<number, (value: unknown) => void>;
  readonly done: Promise<void>;
}

/** One client. */
class Connection {
  readonly #socket: Socket;
  readonly #handlers: Readonly<Record<string, Handler>>;
  readonly #log: Logger;
  readonly #redact: RedactFrame;
  readonly #showsRuns: (method: string, params: unknown) => boolean;
  readonly #reader = new LineReader(LONGEST_LINE);
  readonly #requests = new Map<number, Request>();
  readonly #held = new Map<string, ServerFrame>();
  #questions = 0;

  constructor(
    socket: Socket,
    {
      handlers,
      log,
      redact,
      showsRuns,
    }: {
      readonly handlers: Readonly<Record<string, Handler>>;
      readonly log: Logger;
      readonly redact: RedactFrame;
      readonly showsRuns: (method: string, params: unknown) => boolean;
    },
  ) {
    this.#socket = socket;
    this.#redact = redact;
    this.#showsRuns = showsRuns;
    this.#handlers = handlers;
    this.#log = log;
    socket.on('data', (chunk) => this.#read(chunk));
    socket.on('drain', () => this.#release());
    socket.on('error', (error) => this.#log.debug('control: client disconnected', { reason: errorMessage(error) }));
    socket.on('close', () => this.#abortAll(new ClientGone()));
  }

  /** `showsRuns`: it says what runs or ran; `verbatim`: nothing is taken out. */
  write(frame: ServerFrame, { showsRuns = false, verbatim = false } = {}): void {
    if (this.#socket.destroyed) return;
    if (this.#socket.writableLength > MOST_UNREAD) {
      this.#log.warn('control: closed a client that does not read', { unread: this.#socket.writableLength });
      this.#socket.destroy();
      return;
    }
    const line = encodeFrame(frame);
    this.#socket.write(verbatim ? line : this.#redact(line, { showsRuns }));
  }

  /** Aborts what runs, gives handlers the chance to say how it ended, and closes. */
  async end(): Promise<void> {
    this.#abortAll(
      new AppError(
        'connection-lost',
        'The running assistant is stopping. What it accepted is kept, and is continued when it is started again.',
      ),
    );
    await Promise.all([...this.#requests.values()].map((request) => request.done));
    await new Promise<void>((resolve) => {
      if (this.#socket.destroyed) resolve();
      this.#socket.once('close', () => resolve());
      this.#socket.end(() => this.#socket.destroy());
      // A client that does not read cannot be waited for.
      if (this.#socket.writableLength > 0) this.#socket.destroy();
    });
  }

  #read(chunk: Buffer): void {
    const lines = this.#reader.push(chunk);
    if (lines === undefined) {
      this.#log.warn('control: closed a client that wrote an endless line');
      this.#socket.destroy();
      return;
    }
    for (const line of lines) {
      const frame = decodeFrame(clientFrame, line);
      if (frame === undefined) {
        this.#log.warn('control: closed a client that wrote no request');
        this.#socket.destroy();
        return;
      }
      this.#take(frame);
    }
  }

  #take(frame: ClientFrame): void {
    if ('method' in frame) {
      this.#start(frame.id, frame.method, frame.params);
      return;
    }
    const request = this.#requests.get(frame.id);
    if ('abort' in frame) request?.controller.abort(new DOMException('the client stopped it', 'AbortError'));
    else request?.answers.get(frame.answerTo)?.(frame.value);
  }

  #start(id: number, method: string, params: unknown): void {
    const handler = Object.hasOwn(this.#handlers, method) ? this.#handlers[method] : undefined;
    if (handler === undefined || this.#requests.has(id) || this.#requests.size >= MOST_REQUESTS) {
      const why =
        handler === undefined
          ? `The running assistant does not know the request "${method}". ${OTHER_VERSION}`
          : 'Too many requests at once.';
      this.write({ id, error: { code: 'request-refused', message: why, exitCode: 1, facts: {} } });
      return;
    }
    const controller = new AbortController();
    const answers = new Map<number, (value: unknown) => void>();
    const context: RequestContext = {
      signal: controller.signal,
      emit: (event, key) => this.#emit({ id, event }, key === undefined ? undefined : `${id} ${key}`),
      ask: (question, signal, options) =>
        this.#ask({ id, answers, question, ...options }, AbortSignal.any([signal, controller.signal])),
    };
    const done = this.#run(id, () => handler(params, context), this.#showsRuns(method, params));
    this.#requests.set(id, { controller, answers, done });
  }

  async #run(id: number, handle: () => Promise<unknown>, showsRuns: boolean): Promise<void> {
    try {
      const result = await handle();
      this.#release();
      this.write({ id, result: result ?? null }, { showsRuns });
    } catch (error) {
      this.write({ id, error: errorFrame(error) });
    } finally {
      this.#requests.delete(id);
    }
  }

  #emit(frame: ServerFrame, key: string | undefined): void {
    if (key !== undefined && this.#socket.writableLength > SLOW) {
      this.#held.set(key, frame);
      return;
    }
    this.#release();
    this.write(frame);
  }

  #release(): void {
    const frames = [...this.#held.values()];
    this.#held.clear();
    for (const frame of frames) this.write(frame);
  }

  async #ask(
    {
      id,
      answers,
      question: value,
      verbatim = false,
    }: {
      readonly id: number;
      readonly answers: Map<number, (value: unknown) => void>;
      readonly question: unknown;
      readonly verbatim?: boolean;
    },
    signal: AbortSignal,
  ): Promise<unknown> {
    signal.throwIfAborted();
    this.#questions += 1;
    const question = this.#questions;
    const answer = Promise.withResolvers<unknown>();
    const onAbort = (): void => {
      this.write({ id, withdrawn: question });
      answer.reject(signal.reason);
    };
    answers.set(question, answer.resolve);
    signal.addEventListener('abort', onAbort, { once: true });
    this.write({ id, question, value }, { showsRuns: true, verbatim });
    try {
      return await answer.promise;
    } finally {
      answers.delete(question);
      signal.removeEventListener('abort', onAbort);
    }
  }

  #abortAll(why: Error): void {
    for (const { controller } of this.#requests.values()) controller.abort(why);
  }
}

function errorFrame(error: unknown): {
  code: string;
  message: string;
  exitCode: number;
  facts: Record<string, unknown>;
} {
  if (error instanceof AppError) {
    return { code: error.code, message: error.message, exitCode: error.exitCode, facts: { ...error.facts } };
  }
  return { code: 'request-failed', message: errorMessage(error), exitCode: 1, facts: {} };
}
