import { connect, type Socket } from 'node:net';
import { deadline, raceAbort, type Clock } from '../util/clock.ts';
import { AppError, errorCode, errorMessage } from '../util/errors.ts';
import { PROTOCOL, LineReader, decodeFrame, encodeFrame, serverFrame, type ServerFrame } from './control-wire.ts';

export interface RequestOptions {
  /** Aborting it asks the server to stop; the request still ends with what the server says. */
  readonly signal?: AbortSignal;
  /** Called with each event. If it throws, it is not called again; the request continues. */
  readonly onEvent?: (event: unknown) => void;
  /** Answers what the server asks; the signal aborts when no answer is needed any more. */
  readonly onQuestion?: (question: unknown, signal: AbortSignal) => Promise<unknown>;
}

const HELLO_MS = 5_000;
/** Results hold whole tool outputs. */
const LONGEST_LINE = 64_000_000;

interface Pending {
  readonly options: RequestOptions;
  onEvent: RequestOptions['onEvent'];
  readonly questions: Map<number, AbortController>;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** A connection to a running assistant. Use `connectControl`. */
export class ControlClient implements Disposable {
  readonly #socket: Socket;
  readonly #reader = new LineReader(LONGEST_LINE);
  readonly #pending = new Map<number, Pending>();
  readonly #hello = Promise.withResolvers<number>();
  readonly #ended = Promise.withResolvers<void>();
  #requests = 0;
  #lost: AppError | undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
    this.#hello.promise.catch(() => {});
    socket.on('data', (chunk) => this.#read(chunk));
    socket.on('error', () => {});
    socket.on('close', () =>
      this.#lose(new AppError('connection-lost', 'The connection to the running assistant was lost.')),
    );
  }

  /** The protocol number that the server speaks. */
  get hello(): Promise<number> {
    return this.#hello.promise;
  }

  /** Resolves when the connection is closed, by either side. */
  get lost(): Promise<void> {
    return this.#ended.promise;
  }

  /** Rejects with the server's error, or `connection-lost`. */
  async request(method: string, params: unknown, options: RequestOptions = {}): Promise<unknown> {
    if (this.#lost !== undefined) throw this.#lost;
    this.#requests += 1;
    const id = this.#requests;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const questions = new Map<number, AbortController>();
    this.#pending.set(id, { options, onEvent: options.onEvent, questions, resolve, reject });
    const onAbort = (): void => void this.#socket.write(encodeFrame({ id, abort: true }));
    this.#socket.write(encodeFrame({ id, method, params }));
    if (options.signal?.aborted === true) onAbort();
    options.signal?.addEventListener('abort', onAbort, { once: true });
    try {
      return await promise;
    } finally {
      this.#pending.delete(id);
      options.signal?.removeEventListener('abort', onAbort);
      for (const question of questions.values()) question.abort();
    }
  }

  close(): void {
    this.#socket.end();
    this.#socket.destroy();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #read(chunk: Buffer): void {
    for (const line of this.#reader.push(chunk) ?? []) {
      const frame = decodeFrame(serverFrame, line);
      if (frame !== undefined) this.#take(frame);
    }
  }

  #take(frame: ServerFrame): void {
    if ('hello' in frame) {
      this.#hello.resolve(frame.hello.speaks ?? frame.hello.protocol);
      return;
    }
    const pending = this.#pending.get(frame.id);
    if (pending === undefined) return;
    if ('error' in frame) {
      const { code, message, exitCode, facts } = frame.error;
      pending.reject(new AppError(code, message, { exitCode, facts }));
    } else if ('question' in frame) {
      void this.#answer(frame.id, pending, frame.question, frame.value);
    } else if ('withdrawn' in frame) {
      pending.questions.get(frame.withdrawn)?.abort();
    } else if ('event' in frame) {
      this.#tell(pending, frame.event);
    } else {
      pending.resolve(frame.result);
    }
  }

  #tell(pending: Pending, event: unknown): void {
    try {
      pending.onEvent?.(event);
    } catch (error) {
      pending.onEvent = undefined;
      process.emitWarning(`A listener failed and gets no more events of its request: ${errorMessage(error)}`);
    }
  }

  async #answer(id: number, pending: Pending, question: number, asked: unknown): Promise<void> {
    const controller = new AbortController();
    pending.questions.set(question, controller);
    let value: unknown = null;
    try {
      value = await pending.options.onQuestion?.(asked, controller.signal);
    } catch {
      // Who cannot be asked has not agreed: the server takes null for a no.
    }
    pending.questions.delete(question);
    if (!controller.signal.aborted) this.#socket.write(encodeFrame({ id, answerTo: question, value: value ?? null }));
  }

  #lose(error: AppError): void {
    this.#lost = error;
    this.#hello.reject(error);
    for (const pending of this.#pending.values()) pending.reject(error);
    this.#ended.resolve();
  }
}

/** Connects to the assistant that listens at `path`; undefined when none does. */
export async function connectControl(path: string, clock: Clock): Promise<ControlClient | undefined> {
  const socket = connect(path);
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
  } catch (cause) {
    socket.destroy();
    const code = errorCode(cause);
    if (code === 'ENOENT' || code === 'ECONNREFUSED' || code === 'ENOTDIR') return undefined;
    throw new AppError('control-socket', `Could not reach the running assistant at ${path}: ${errorMessage(cause)}.`, {
      cause,
    });
  }
  const client = new ControlClient(socket);
  using waiting = deadline(clock, HELLO_MS, 'the greeting of the running assistant');
  try {
    const protocol = await raceAbort(client.hello, waiting.signal);
    if (protocol === PROTOCOL) return client;
  } catch (cause) {
    client.close();
    throw new AppError('control-socket', 'An assistant runs in this home but does not answer. Restart it.', { cause });
  }
  client.close();
  throw new AppError('control-version', 'The running assistant has another version than this command. Restart it.');
}
