import type { RequestOptions } from '@modelcontextprotocol/sdk/shared/protocol.js';
import type { ElicitRequestFormParams, Progress } from '@modelcontextprotocol/sdk/types.js';
import type { App } from '../../app.ts';
import { backoffMs } from '../../util/backoff.ts';
import { deadline, raceAbort, sleep } from '../../util/clock.ts';
import { AppError, errorMessage, OwnWordsError } from '../../util/errors.ts';
import { NotPermitted } from '../../util/permit.ts';
import { oneLine } from '../../util/text.ts';
import type { ToolContext } from '../tool.ts';
import type { Connection, ConnectOptions } from './connect.ts';
import { FOREVER_MS, listingOf, type Listing } from './listing.ts';

const BACKOFF = { firstMs: 1_000, maxMs: 300_000 };
const SETTLE_MS = 500;
/** A server that was stopped in the middle of a call and doesn't answer within this time is ended. */
const ALIVE_MS = 1_500;
const PROGRESS_EVERY_MS = 300;
const LOG_LINES = { most: 50, windowMs: 10_000 };
const LONGEST_REASON = 500;
const LONGEST_QUESTION = 600;

export interface McpServerOptions
  extends
    Pick<App, 'clock' | 'random' | 'log' | 'redact'>,
    Pick<ConnectOptions, 'settings' | 'environment' | 'workspace' | 'version' | 'fetch'> {
  readonly name: string;
  /** How long to wait after a start for a server to announce changed tools, ms. @default 500 */
  readonly settleMs?: number;
  /** Told what the server offers each time that becomes known. */
  readonly onListing?: (listing: Listing) => void;
}

/** A server that can be asked right now. */
export interface RunningServer extends Connection {
  /** Its own name and version, as it says. */
  readonly is: string;
  /** What it offers right now. */
  listing: Listing;
  /** A call ended well. */
  worked: boolean;
  /** Resolves when the changes that it announced are known. */
  refreshing: Promise<void>;
}

/**
 * One server, started when it is first needed, and again after it has ended. A server that doesn't start, or dies
 * without having worked, is left alone for a while, longer each time; calls then fail at once.
 */
export class McpServer implements AsyncDisposable {
  readonly options: McpServerOptions;
  readonly #closing = new AbortController();
  readonly #calls = new Set<RunningCall>();
  #running: RunningServer | undefined;
  #starting: Promise<RunningServer> | undefined;
  #failures = 0;
  #retryAt = -Infinity;
  #trouble: string | null = null;
  #lastEnd = '';
  #logged = { lines: 0, since: -Infinity };

  constructor(options: McpServerOptions) {
    this.options = options;
  }

  get state(): 'idle' | 'starting' | 'running' | 'failed' {
    if (this.#running !== undefined) return 'running';
    if (this.#starting !== undefined) return 'starting';
    return this.#trouble === null ? 'idle' : 'failed';
  }

  /** Why it doesn't work, in a few words; null: nothing is known against it. */
  get trouble(): string | null {
    return this.#trouble;
  }

  /** What it offers, while it is running. */
  get listing(): Listing | undefined {
    return this.#running?.listing;
  }

  /**
   * Starts it unless it is running, whatever failed before. Throws one sentence when it doesn't work, or the signal's
   * reason; others go on waiting for it.
   */
  async start(signal = this.#closing.signal): Promise<RunningServer> {
    this.#closing.signal.throwIfAborted();
    if (this.#running !== undefined) return this.#running;
    this.#starting ??= this.#connect().finally(() => (this.#starting = undefined));
    return await raceAbort(this.#starting, signal);
  }

  /** Waits until what it announces right after its start is known. */
  async settle(signal = this.#closing.signal): Promise<void> {
    const { clock, settleMs = SETTLE_MS } = this.options;
    await sleep(clock, settleMs, signal);
    await raceAbort(this.#running?.refreshing ?? Promise.resolve(), signal);
  }

  /**
   * Asks it something for a turn, within the time for a call. Throws one sentence. A server that forgot us is greeted
   * once more: it hasn't done anything then.
   */
  async run<T>(
    context: ToolContext,
    ask: (server: RunningServer, options: RequestOptions & { readonly signal: AbortSignal }) => Promise<T>,
    isSecondTry = false,
  ): Promise<T> {
    const { name, settings, clock } = this.options;
    const waitMs = this.#retryAt - clock.monotonic();
    if (this.state === 'failed' && waitMs > 0) {
      throw this.#failure(`does not work: ${this.#trouble}`, `It is tried again in ${Math.ceil(waitMs / 1000)} s.`);
    }
    const running = await this.start(context.signal);
    using call = new RunningCall(this.options, context);
    this.#calls.add(call);
    const aborted = AbortSignal.any([context.signal, call.expired]);
    try {
      const result = await detached(aborted, (signal) =>
        ask(running, { signal, timeout: FOREVER_MS, onprogress: (progress) => call.showProgress(progress) }),
      );
      running.worked = true;
      this.#failures = 0;
      return result;
    } catch (error) {
      if (aborted.aborted) {
        void this.#endIfDead(running);
        context.signal.throwIfAborted();
        const why = `did not answer within ${settings.timeouts.callSeconds} s`;
        throw this.#failure('', `The MCP server ${name} ${why}. It may have taken effect.`, true);
      }
      if (error instanceof NotPermitted || (error instanceof AppError && error.code === 'mcp-tool')) throw error;
      const isOver = this.#running !== running;
      if (isOfProtocol(error) && !isOver) {
        running.worked = true;
        throw this.#failure(`answered with an error: ${this.#reason(error)}`);
      }
      const status = isOver ? null : refusedStatus(error);
      if (status !== null && status !== FORGOTTEN) {
        const own = `Nothing was done. ${REMEDIES[status] ?? ''}`.trim();
        throw this.#failure(`refused the call (HTTP ${status}): ${this.#reason(error)}`, own);
      }
      await this.#drop(running);
      if (status === FORGOTTEN && !isSecondTry) return await this.run(context, ask, true);
      const why = isOver ? this.#lastEnd : this.#reason(error);
      const own = 'It may have taken effect. The next call starts it again.';
      throw this.#failure(`was lost while this ran (${why})`, own, true);
    } finally {
      this.#calls.delete(call);
    }
  }

  /** Ends it, and for a local server everything that it started. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new Error('the assistant is stopping'));
    await this.#starting?.catch(() => {});
    if (this.#running !== undefined) await this.#drop(this.#running);
  }

  async #connect(): Promise<RunningServer> {
    const { name, settings, clock, log, onListing } = this.options;
    const { startSeconds } = settings.timeouts;
    using limit = deadline(clock, startSeconds * 1000, 'starting');
    const aborted = AbortSignal.any([limit.signal, this.#closing.signal]);
    let connection: Connection | undefined;
    let running: RunningServer | undefined;
    try {
      const { connect } = await import('./connect.ts');
      const options: ConnectOptions = {
        ...this.options,
        onQuestion: (form) => this.#answer(form),
        onStderr: (line) => this.#note('stderr of an MCP server', line),
        onTrouble: (what) => this.#note('something is odd with an MCP server', what),
        onToolsChanged: () => this.#refresh(),
        onClose: (why) => {
          this.#lastEnd = why;
          if (running !== undefined && this.#running === running) this.#ended(running, why);
        },
      };
      connection = await detached(aborted, (signal) => connect(options, signal));
      const { client } = connection;
      const listing = await detached(aborted, (signal) => listingOf(client, signal));
      const { name: own = 'unnamed', version = '' } = client.getServerVersion() ?? {};
      const is = `${own} ${version}`.trim();
      running = { ...connection, is, listing, worked: false, refreshing: Promise.resolve() };
      this.#running = running;
      this.#trouble = null;
      log.info('mcp: server running', { server: name, is: oneLine(is, 80) });
      onListing?.(listing);
      return running;
    } catch (error) {
      await connection?.close().catch(() => {});
      this.#closing.signal.throwIfAborted();
      const late = `it was not ready within ${startSeconds} s`;
      const noise = error instanceof AppError ? ` (${this.#reason(error)})` : '';
      const why = limit.signal.aborted ? `${late}${noise}` : this.#reason(error);
      this.#failed(why, this.#failures + 1);
      throw this.#failure(`does not work: ${why}`);
    }
  }

  #ended({ worked }: RunningServer, why: string): void {
    this.#running = undefined;
    if (this.#closing.signal.aborted) return;
    const failures = worked ? 0 : this.#failures + 1;
    // Once may be chance; from the second time on it waits.
    if (failures > 1) return this.#failed(why, failures);
    this.#failures = failures;
    this.options.log.warn('mcp: server ended; the next call starts it again', { server: this.options.name, why });
  }

  #failed(why: string, failures: number): void {
    const { name, clock, random, log } = this.options;
    this.#failures = failures;
    this.#trouble = why;
    const waitMs = backoffMs(failures, BACKOFF, random);
    this.#retryAt = clock.monotonic() + waitMs;
    log.warn('mcp: server does not work', { server: name, why, waitMs });
  }

  /** After a call was given up: ends the server with all its processes if it doesn't answer a ping. */
  async #endIfDead(running: RunningServer): Promise<void> {
    const { name, clock, log } = this.options;
    using limit = deadline(clock, ALIVE_MS, 'a sign of life');
    try {
      await running.client.ping({ signal: limit.signal, timeout: FOREVER_MS });
    } catch {
      if (this.#running !== running) return;
      log.warn('mcp: server does not answer and is ended', { server: name });
      await this.#drop(running);
    }
  }

  async #drop(running: RunningServer): Promise<void> {
    if (this.#running === running) this.#running = undefined;
    await running.close().catch(() => {});
  }

  #refresh(): void {
    const running = this.#running;
    if (running === undefined) return;
    const { clock, settings, onListing } = this.options;
    running.refreshing = running.refreshing.then(async () => {
      using limit = deadline(clock, settings.timeouts.startSeconds * 1000, 'listing the tools');
      try {
        running.listing = await listingOf(running.client, limit.signal);
        if (this.#running === running) onListing?.(running.listing);
      } catch (error) {
        this.#note('the new list of tools of an MCP server could not be read', this.#reason(error));
      }
    });
  }

  /** Only where it's clear for which turn the server asks. */
  async #answer(form: ElicitRequestFormParams): Promise<boolean> {
    const [call, ...others] = this.#calls;
    return call !== undefined && others.length === 0 && (await call.ask(form));
  }

  #note(message: string, line: string): void {
    const { name, clock, log, redact } = this.options;
    const now = clock.monotonic();
    if (now - this.#logged.since > LOG_LINES.windowMs) this.#logged = { lines: 0, since: now };
    this.#logged.lines += 1;
    const { lines } = this.#logged;
    if (lines <= LOG_LINES.most) log.info(message, { server: name, line: oneLine(redact(line), LONGEST_REASON) });
    if (lines === LOG_LINES.most) log.info('mcp: more lines of a server are left out for a while', { server: name });
  }

  #reason(error: unknown): string {
    return oneLine(this.options.redact(errorMessage(error)), LONGEST_REASON);
  }

  /**
   * `what` may hold the server's words; `own` is what the program says about it. `doubtful`: what was asked of it may have
   * been done.
   */
  #failure(what: string, own = '', doubtful = false): OwnWordsError {
    const said = what === '' ? '' : `The MCP server ${this.options.name} ${what}.`;
    return new OwnWordsError('mcp-server', { said, own, doubtful });
  }
}

/** A call that a server is working on. Its time starts anew after a person was asked. */
class RunningCall implements Disposable {
  readonly #server: McpServerOptions;
  readonly #context: ToolContext;
  readonly #limit = new AbortController();
  #timer: Disposable;
  #isOver = false;
  #shownAt = -Infinity;
  /** Aborts when its time is over. */
  readonly expired = this.#limit.signal;

  constructor(server: McpServerOptions, context: ToolContext) {
    this.#server = server;
    this.#context = context;
    this.#timer = this.#startTimer();
  }

  showProgress({ progress, total = 0, message = '' }: Progress): void {
    const { name, clock } = this.#server;
    const now = clock.monotonic();
    if (now - this.#shownAt < PROGRESS_EVERY_MS) return;
    this.#shownAt = now;
    const share = total <= 0 ? String(progress) : `${progress} of ${total}`;
    this.#context.people.progress(oneLine(`${name}: ${message === '' ? share : `${message} (${share})`}`, 80));
  }

  /**
   * Whether the server gets its form back with the form's own defaults: if nothing else is required, the person behind
   * the turn decides. No answer and nobody to ask are a no.
   */
  async ask({ message, requestedSchema: { properties, required = [] } }: ElicitRequestFormParams): Promise<boolean> {
    const { name } = this.#server;
    const defaults = Object.entries(properties).map(([key, field]) => [key, field.default] as const);
    const suggested = Object.fromEntries(defaults.filter(([, value]) => value !== undefined));
    if (required.some((key) => !Object.hasOwn(suggested, key))) return false;
    const answer = Object.keys(suggested).length === 0 ? '(an empty form)' : JSON.stringify(suggested, null, 2);
    this.#timer[Symbol.dispose]();
    try {
      const { approved } = await this.#context.people.approve({
        title: `Answer the MCP server ${name}`,
        detail: `It asks: ${oneLine(message, LONGEST_QUESTION)}\nThe answer would be: ${answer}`,
        reason: 'an MCP server asks this in the middle of a call',
      });
      return approved;
    } finally {
      if (!this.#isOver) this.#timer = this.#startTimer();
    }
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#timer[Symbol.dispose]();
  }

  #startTimer(): Disposable {
    const { clock, settings } = this.#server;
    return clock.timer(settings.timeouts.callSeconds * 1000, () => this.#limit.abort(), { keepAlive: true });
  }
}

/**
 * The SDK listens to a request's signal for good, and would cancel the request after its end: it gets a signal that is
 * detached then.
 */
async function detached<T>(signal: AbortSignal, ask: (own: AbortSignal) => Promise<T>): Promise<T> {
  const own = new AbortController();
  const abort = (): void => own.abort(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await ask(own.signal);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** The SDK isn't loaded to tell its errors apart. */
function isOfProtocol(error: unknown): boolean {
  return error instanceof Error && /^(?:McpError|\$?ZodError)$/u.test(error.name);
}

const REMEDIES: Readonly<Record<number, string>> = {
  401: 'Check the headers of the server in the configuration.',
  403: 'Check the headers of the server in the configuration.',
  429: 'The server is rate-limiting us right now; try again later.',
};

/** Over HTTP: it doesn't know our session any more. */
const FORGOTTEN = 404;

/** The HTTP status of a request that the server turned down before it did anything; null if it may have begun. */
function refusedStatus(error: unknown): number | null {
  const status = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof status === 'number' && status >= 400 && status < 500 && status !== 408 ? status : null;
}
