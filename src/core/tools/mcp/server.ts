import type { App } from '../../app.ts';
import { backoffMs } from '../../util/backoff.ts';
import { deadline, raceAbort, sleep } from '../../util/clock.ts';
import { AppError, OwnWordsError } from '../../util/errors.ts';
import { NotPermitted } from '../../util/permit.ts';
import { oneLine } from '../../util/text.ts';
import type { ToolContext } from '../tool.ts';
import type { ServerCallOptions, Connection } from './connection.ts';
import type { ConnectOptions } from './connect.ts';
import type { Elicitation } from './elicitation.ts';
import { RateLimit } from './lines.ts';
import { linked, CallDeadline, RunningCall } from './running-call.ts';
import { failureWords } from './failure-words.ts';
import { toolHash, type Listing } from './listing.ts';
import type { McpSettings } from './stdio.ts';

const BACKOFF = { firstMs: 1_000, maxMs: 300_000 };
const SETTLE_MS = 500;
/** One that was stopped in the middle of a call and does not answer within this is ended. */
const ALIVE_MS = 1_500;
const LOG_LINES = { most: 50, windowMs: 10_000 };
const LONGEST_REASON = 500;

export interface McpServerOptions {
  readonly name: string;
  readonly settings: McpSettings;
  /** How long to wait after a start for a server to announce changed tools, ms. @default 500 */
  readonly settleMs?: number;
  /** What every connection is made with. */
  readonly connectOptions: Omit<
    ConnectOptions,
    'elicit' | 'onStderr' | 'onTrouble' | 'onListChanged' | 'onClose' | 'settings' | 'clock'
  >;
  /** Told what it offers each time that becomes known. */
  readonly onListing: (listing: Listing) => void;
}

/** A server that can be asked now. */
export interface LiveServer {
  readonly connection: Connection;
  readonly listing: () => Listing;
  /** By the names of its tools. */
  readonly hashes: () => ReadonlyMap<string, string>;
}

interface Live extends LiveServer {
  /** A call of it ended well. */
  worked: boolean;
  current: Listing;
  currentHashes: ReadonlyMap<string, string>;
  refreshing: Promise<void>;
}

/**
 * One server, started when it is first needed, and again after it ended. One that does not start or dies without having
 * worked is left alone for a while, longer each time; calls then fail at once.
 */
export class McpServer implements AsyncDisposable {
  readonly #app: Pick<App, 'clock' | 'random' | 'log' | 'redact'>;
  readonly #options: McpServerOptions;
  readonly #closing = new AbortController();
  readonly #calls = new Set<RunningCall>();
  readonly #lines: RateLimit;
  #live: Live | undefined;
  #starting: Promise<Live> | undefined;
  #failures = 0;
  #retryAt = -Infinity;
  #trouble: string | null = null;
  #lastEnd = '';

  constructor(app: Pick<App, 'clock' | 'random' | 'log' | 'redact'>, options: McpServerOptions) {
    this.#app = app;
    this.#options = options;
    this.#lines = new RateLimit({
      ...LOG_LINES,
      clock: app.clock,
      onDropped: (count) => app.log.info('mcp: lines of a server left out', { server: options.name, count }),
    });
  }

  get state(): 'idle' | 'starting' | 'running' | 'failed' {
    if (this.#live !== undefined) return 'running';
    if (this.#starting !== undefined) return 'starting';
    return this.#trouble === null ? 'idle' : 'failed';
  }

  /** Why it does not work, in a few words; null: nothing is known against it. */
  get trouble(): string | null {
    return this.#trouble;
  }

  /** What it offers, as far as that is known now. */
  get listing(): Listing | undefined {
    return this.#live?.current;
  }

  /**
   * Starts it where it does not run. Throws one sentence when it does not work, or the signal's reason; others go on
   * waiting for it.
   */
  async use(
    signal: AbortSignal,
    options: { /** Not held off by earlier failures. */ now?: boolean } = {},
  ): Promise<LiveServer> {
    return await this.#use(signal, options.now === true);
  }

  /** Waits until what it announces right after its start is known. */
  async settle(signal: AbortSignal): Promise<void> {
    const { clock } = this.#app;
    const { settleMs = SETTLE_MS } = this.#options;
    await sleep(clock, settleMs, signal);
    await raceAbort(this.#live?.refreshing ?? Promise.resolve(), signal);
  }

  /**
   * Asks it something for a turn, within the time for a call. Throws one sentence. A server that forgot us is greeted
   * once more: it has not done anything then.
   */
  async run<T>(
    context: ToolContext,
    ask: (live: LiveServer, options: ServerCallOptions) => Promise<T>,
    isSecondTry = false,
  ): Promise<T> {
    const { clock } = this.#app;
    const { name, settings } = this.#options;
    const live = await this.#use(context.signal, false);
    using call = new RunningCall({ server: name, seconds: settings.timeouts.callSeconds, clock, context });
    this.#calls.add(call);
    call.start();
    try {
      const result = await raceAbort(
        ask(live, { signal: call.signal, onProgress: (progress) => call.progress(progress) }),
        call.signal,
      );
      live.worked = true;
      this.#failures = 0;
      return result;
    } catch (error) {
      if (call.signal.aborted) {
        void this.#endIfDead(live);
        context.signal.throwIfAborted();
        const { reason } = call.signal;
        throw reason instanceof CallDeadline
          ? this.#failure('', `The MCP server ${name} ${reason.message}. It may have taken effect.`, true)
          : reason;
      }
      if (error instanceof NotPermitted || (error instanceof AppError && error.code === 'mcp-tool')) throw error;
      const isOver = this.#live !== live;
      if (isOfProtocol(error) && !isOver) {
        live.worked = true;
        throw this.#failure(`answered with an error: ${this.#reason(error)}`);
      }
      const status = isOver ? null : refusedStatus(error);
      if (status !== null && !isForgotten(error)) {
        throw this.#failure(
          `refused the call (HTTP ${status}): ${this.#reason(error)}`,
          `Nothing was done. ${REMEDIES[status] ?? ''}`.trim(),
        );
      }
      await this.#drop(live);
      if (isForgotten(error) && !isSecondTry) return await this.run(context, ask, true);
      const why = isOver ? this.#lastEnd : this.#reason(error);
      throw this.#failure(
        `was lost while this ran (${why})`,
        'It may have taken effect. The next call starts it again.',
        true,
      );
    } finally {
      this.#calls.delete(call);
    }
  }

  /** Ends it, and for a local server everything that it started. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new Error('the assistant is stopping'));
    await this.#starting?.catch(() => {});
    const live = this.#live;
    this.#live = undefined;
    await live?.connection.close().catch(() => {});
  }

  async #use(signal: AbortSignal, now: boolean): Promise<Live> {
    this.#closing.signal.throwIfAborted();
    if (this.#live !== undefined) return this.#live;
    const waitMs = this.#retryAt - this.#app.clock.monotonic();
    if (this.#starting === undefined && waitMs > 0 && !now) {
      throw this.#failure(`does not work: ${this.#trouble}`, `It is tried again in ${Math.ceil(waitMs / 1000)} s.`);
    }
    this.#starting ??= this.#start().finally(() => (this.#starting = undefined));
    return await raceAbort(this.#starting, signal);
  }

  async #start(): Promise<Live> {
    const { clock, log } = this.#app;
    const { name, settings } = this.#options;
    const { startSeconds } = settings.timeouts;
    using limit = deadline(clock, startSeconds * 1000, 'starting');
    using stop = linked(limit.signal, this.#closing.signal);
    const { signal } = stop;
    let connection: Connection | undefined;
    try {
      connection = await this.#connect(signal);
      const live = liveServer(connection, await raceAbort(connection.listing(signal), signal));
      this.#live = live;
      this.#trouble = null;
      log.info('mcp: server running', { server: name, is: oneLine(connection.server, 80) });
      this.#options.onListing(live.current);
      return live;
    } catch (error) {
      await connection?.close().catch(() => {});
      this.#closing.signal.throwIfAborted();
      const why = limit.signal.aborted
        ? `it was not ready within ${startSeconds} s${error instanceof AppError ? ` (${this.#reason(error)})` : ''}`
        : this.#reason(error);
      this.#failed(why, this.#failures + 1);
      throw this.#failure(`does not work: ${why}`);
    }
  }

  async #connect(signal: AbortSignal): Promise<Connection> {
    const { clock } = this.#app;
    const { connectOptions, settings } = this.#options;
    const { connectServer } = await import('./connect.ts');
    let own: Connection | undefined;
    own = await connectServer(
      {
        ...connectOptions,
        settings,
        clock,
        elicit: (question) => this.#elicit(question),
        onStderr: (line) => this.#note('stderr of an MCP server', line),
        onTrouble: (what) => this.#note('something is odd with an MCP server', what),
        onListChanged: () => this.#refresh(),
        onClose: (why) => this.#closed(own, why),
      },
      signal,
    );
    return own;
  }

  #closed(connection: Connection | undefined, why: string): void {
    this.#lastEnd = why;
    const live = this.#live;
    if (live === undefined || live.connection !== connection) return;
    this.#live = undefined;
    if (this.#closing.signal.aborted) return;
    const failures = live.worked ? 0 : this.#failures + 1;
    // Once may be chance; from the second time on it waits.
    if (failures > 1) return this.#failed(why, failures);
    this.#failures = failures;
    this.#app.log.warn('mcp: server ended; the next call starts it again', { server: this.#options.name, why });
  }

  #failed(why: string, failures: number): void {
    const { clock, random, log } = this.#app;
    const { name } = this.#options;
    this.#failures = failures;
    this.#trouble = why;
    const waitMs = backoffMs(failures, BACKOFF, random);
    this.#retryAt = clock.monotonic() + waitMs;
    log.warn('mcp: server does not work', { server: name, why, waitMs });
  }

  /** After a call was given up: ends the server with all its processes if it does not answer a ping. */
  async #endIfDead(live: Live): Promise<void> {
    const { clock, log } = this.#app;
    const { name } = this.#options;
    using limit = deadline(clock, ALIVE_MS, 'a sign of life');
    try {
      await raceAbort(live.connection.ping(limit.signal), limit.signal);
    } catch {
      if (this.#live !== live) return;
      log.warn('mcp: server does not answer and is ended', { server: name });
      await this.#drop(live);
    }
  }

  async #drop(live: Live): Promise<void> {
    if (this.#live === live) this.#live = undefined;
    await live.connection.close().catch(() => {});
  }

  #refresh(): void {
    const live = this.#live;
    if (live === undefined) return;
    const { clock } = this.#app;
    const { settings } = this.#options;
    live.refreshing = live.refreshing.then(async () => {
      using limit = deadline(clock, settings.timeouts.startSeconds * 1000, 'listing the tools');
      try {
        const listing = await raceAbort(live.connection.listing(limit.signal), limit.signal);
        setListing(live, listing);
        if (this.#live === live) this.#options.onListing(listing);
      } catch (error) {
        this.#note('the new list of tools of an MCP server could not be read', this.#reason(error));
      }
    });
  }

  /** Only where it is clear for which turn the server asks. */
  async #elicit(question: Elicitation): Promise<boolean> {
    const [call, ...others] = this.#calls;
    return call !== undefined && others.length === 0 && (await call.ask(question));
  }

  #note(message: string, line: string): void {
    const { log, redact } = this.#app;
    const { name } = this.#options;
    if (this.#lines.passes()) log.info(message, { server: name, line: oneLine(redact(line), LONGEST_REASON) });
  }

  #reason(error: unknown): string {
    return oneLine(this.#app.redact(failureWords(error)), LONGEST_REASON);
  }

  /** `what` may hold the server's words; `own` is what the program says about it. */
  /** `doubtful`: what was asked of it may have been done. */
  #failure(what: string, own = '', doubtful = false): OwnWordsError {
    const said = what === '' ? '' : `The MCP server ${this.#options.name} ${what}.`;
    return new OwnWordsError('mcp-server', { said, own, doubtful });
  }
}

function liveServer(connection: Connection, listing: Listing): Live {
  const live: Live = {
    connection,
    worked: false,
    refreshing: Promise.resolve(),
    current: listing,
    currentHashes: new Map(),
    listing: () => live.current,
    hashes: () => live.currentHashes,
  };
  setListing(live, listing);
  return live;
}

function setListing(live: Live, listing: Listing): void {
  live.current = listing;
  live.currentHashes = new Map(listing.tools.map((tool) => [tool.name, toolHash(tool)]));
}

/** The SDK is not loaded for telling its errors apart. What the server said no with is one of the protocol's. */
function isOfProtocol(error: unknown): boolean {
  return error instanceof Error && /^(?:McpError|\$?ZodError)$/u.test(error.name);
}

const REMEDIES: Readonly<Record<number, string>> = {
  401: 'Check the headers of the server in the configuration.',
  403: 'Check the headers of the server in the configuration.',
  429: 'The server is rate-limiting us right now; try again later.',
};

/** The HTTP status of a request that the server turned down before it did anything; null if it may have begun. */
function refusedStatus(error: unknown): number | null {
  const status = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof status === 'number' && status >= 400 && status < 500 && status !== 408 ? status : null;
}

/** Over HTTP: it does not know our session any more. */
function isForgotten(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 404;
}
