import type { EnclosedProcess } from '../../core/api-sandbox.ts';
import { AppError, type Clock, cut, oneLine, sleep } from '../../core/api.ts';
import { readReplies } from './child-lines.ts';
import type { ChildAction, ChildReply } from './protocol.ts';

/** What it last wrote to its standard error, characters. */
const LAST_WORDS = 2_000;
/** How long one may take to end in order. */
const GRACE_MS = 2_000;

/** A browser in its sandbox. */
export class BrowserProcess {
  /** Resolves when nothing of it runs any more. */
  readonly ended: Promise<void>;
  readonly #child: EnclosedProcess;
  readonly #waiting = new Map<number, PromiseWithResolvers<ChildReply>>();
  #next = 1;
  #lastWords = '';
  #isOver = false;

  private constructor(child: EnclosedProcess) {
    this.#child = child;
    child.stderr.on('data', (piece: Buffer) => {
      this.#lastWords = (this.#lastWords + piece.toString('utf8')).slice(-LAST_WORDS);
    });
    readReplies(child.stdout, {
      onReply: (reply) => this.#waiting.get(reply.id)?.resolve(reply),
      broken: () => this.kill(),
    });
    this.ended = child.exit.then(
      () => {},
      () => {},
    );
    void this.ended.then(() => {
      this.#isOver = true;
      for (const { reject } of this.#waiting.values()) reject(this.#gone());
    });
  }

  /** Resolves when a child that was started takes actions. Throws one sentence when it does not start. The signal ends it. */
  static async start(child: EnclosedProcess, signal: AbortSignal): Promise<BrowserProcess> {
    const process = new BrowserProcess(child);
    const started = await process.#reply(0, signal);
    if (!('error' in started)) return process;
    process.kill();
    throw new AppError('browser-start', `The browser did not start: ${oneLine(started.error, 300)}`);
  }

  /** Has it done. Rejects when the browser ended, or with the signal's reason; then the browser is ended too. */
  async ask(action: ChildAction, signal: AbortSignal): Promise<ChildReply> {
    if (this.#isOver) throw this.#gone();
    const id = this.#next;
    this.#next += 1;
    const replied = this.#reply(id, signal);
    this.#child.stdin?.write(`${JSON.stringify({ ...action, id })}\n`);
    return await replied;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Lets it write down what it keeps, then ends it. */
  async end(clock: Clock): Promise<void> {
    this.#child.stdin?.end();
    await Promise.race([this.ended, sleep(clock, GRACE_MS)]);
    this.kill();
    await this.ended;
  }

  /** Ends it and all that it started. */
  kill(): void {
    void this.#child.end();
  }

  async #reply(id: number, signal: AbortSignal): Promise<ChildReply> {
    const waiting = Promise.withResolvers<ChildReply>();
    this.#waiting.set(id, waiting);
    // What did not answer in time cannot be asked anything else: the answers would be mixed up.
    const onAbort = (): void => {
      waiting.reject(signal.reason);
      this.kill();
    };
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      return await waiting.promise;
    } finally {
      signal.removeEventListener('abort', onAbort);
      this.#waiting.delete(id);
    }
  }

  #gone(): AppError {
    const words = oneLine(cut(this.#lastWords, LAST_WORDS), 200);
    return new AppError('browser-gone', `The browser ended${words === '' ? '.' : ` (${words}).`} Open the page again.`);
  }
}
