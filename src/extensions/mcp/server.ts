import type { RequestOptions } from '@modelcontextprotocol/sdk/shared/protocol.js';
import type { ElicitRequestFormParams, Progress } from '@modelcontextprotocol/sdk/types.js';
import { AppError, deadline, errorMessage, oneLine, raceAbort, sleep, type App, type Clock } from '../../core/api.ts';
import { backoffMs, NotPermitted, OwnWordsError } from '../../core/api-clients.ts';
import type { ToolContext } from '../../core/api-tools.ts';
import type { Connection } from './connect.ts';
import { FOREVER_MS, listingOf, type Listing } from './listing.ts';
import { withoutReports } from './messages.ts';
import type { McpServerSettings } from './settings.ts';

const BACKOFF = { firstMs: 1_000, maxMs: 300_000 };
const SETTLE_MS = 500;
/** A server that was stopped in the middle of a call and doesn't answer within this time is ended. */
const ALIVE_MS = 1_500;
const PROGRESS_EVERY_MS = 300;
const LOG_LINES = { most: 50, windowMs: 10_000 };
const LONGEST_REASON = 500;
const LONGEST_QUESTION = 600;

export interface McpServerOptions {
  readonly name: string;
  readonly settings: McpServerSettings;
  /** Absolute; where a local server starts, and the root that servers are told of. */
  readonly folder: string;
  readonly app: Pick<App, 'clock' | 'random' | 'log' | 'redact' | 'version' | 'env' | 'paths'>;
  /** How long to wait after a start for a server to announce changed tools, ms. @default 500 */
  readonly settleMs?: number;
  /** Told each time that it becomes known what the server offers. @default nobody */
  readonly onListing?: () => void;
}

/** A server that can be asked right now. */
export interface RunningServer extends Connection {
  /** What it offers right now. */
  listing: Listing;
  /** A call ended well. */
  worked: boolean;
  /** Resolves when the changes that it announced are known. */
  refreshing: Promise<void>;
  /** Why it isn't running any more. */
  ended?: string;
}

/**
 * One server, started when it is first needed, and again after it has ended. A server that doesn't start, or dies
 * without having worked, is left alone for a while, longer each time; calls then fail at once.
 */
export class McpServer implements AsyncDisposable {
  readonly options: McpServerOptions;
  /** Why it doesn't work, in a few words; null: nothing is known against it. */
  trouble: string | null = null;
  readonly #closing = new AbortController();
  /** Aborts when it is ended for good. */
  readonly closing: AbortSignal = this.#closing.signal;
  readonly #calls = new Set<{ readonly context: ToolContext; readonly limit: ReturnType<typeof timeLimit> }>();
  #running: RunningServer | undefined;
  #starting: Promise<RunningServer> | undefined;
  #failures = 0;
  #retryAt = -Infinity;
  #logged = { lines: 0, since: -Infinity };
  #progressAt = -Infinity;

  constructor(options: McpServerOptions) {
    this.options = options;
  }

  get state(): 'idle' | 'starting' | 'running' | 'failed' {
    if (this.#running !== undefined) return 'running';
    if (this.#starting !== undefined) return 'starting';
    return this.trouble === null ? 'idle' : 'failed';
  }

  /** What it offers, while it is running. */
  get listing(): Listing | undefined {
    return this.#running?.listing;
  }

  /**
   * Starts it unless it is running, whatever failed before. Throws one sentence when it doesn't work, or the signal's
   * reason; others go on waiting for it.
   */
  async start(signal: AbortSignal = this.closing): Promise<RunningServer> {
    this.closing.throwIfAborted();
    if (this.#running !== undefined) return this.#running;
    this.#starting ??= this.#connect().finally(() => (this.#starting = undefined));
    return await raceAbort(this.#starting, signal);
  }

  /** Waits until what it announces right after its start is known. */
  async settle(signal: AbortSignal = this.closing): Promise<void> {
    await sleep(this.options.app.clock, this.options.settleMs ?? SETTLE_MS, signal);
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
    const { name, settings, app } = this.options;
    const { callSeconds } = settings.timeouts;
    const waitMs = this.#retryAt - app.clock.monotonic();
    if (this.state === 'failed' && waitMs > 0) {
      throw this.#failure(`does not work: ${this.trouble}`, `It is tried again in ${Math.ceil(waitMs / 1000)} s.`);
    }
    const running = await this.start(context.signal);
    using limit = timeLimit(app.clock, callSeconds * 1000, context.signal);
    const { signal } = limit;
    const call = { context, limit };
    this.#calls.add(call);
    try {
      const onprogress = (progress: Progress): void => this.#showProgress(context, progress);
      const answer = await ask(running, { signal, timeout: FOREVER_MS, onprogress });
      running.worked = true;
      this.#failures = 0;
      return answer;
    } catch (error) {
      if (signal.aborted) {
        void this.#endIfDead(running);
        context.signal.throwIfAborted();
        const own = `The MCP server ${name} did not answer within ${callSeconds} s. It may have taken effect.`;
        throw this.#failure('', own, true);
      }
      if (error instanceof NotPermitted || error instanceof OwnWordsError) throw error;
      const { ended } = running;
      if (isOfProtocol(error) && ended === undefined) {
        running.worked = true;
        throw this.#failure(`answered with an error: ${this.#reason(error)}`);
      }
      const status = ended === undefined ? refusedStatus(error) : null;
      if (status !== null && status !== FORGOTTEN) {
        const own = `Nothing was done. ${REMEDIES[status] ?? ''}`.trim();
        throw this.#failure(`refused the call (HTTP ${status}): ${this.#reason(error)}`, own);
      }
      await this.#drop(running);
      if (status === FORGOTTEN && !isSecondTry) return await this.run(context, ask, true);
      const own = 'It may have taken effect. The next call starts it again.';
      throw this.#failure(`was lost while this ran (${ended ?? this.#reason(error)})`, own, true);
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
    const { name, settings, app, onListing } = this.options;
    const { startSeconds } = settings.timeouts;
    using limit = deadline(app.clock, startSeconds * 1000, 'starting');
    const signal = AbortSignal.any([limit.signal, this.closing]);
    let connection: Connection | undefined;
    let running: RunningServer | undefined;
    try {
      const { connect } = await import('./connect.ts');
      const listener = {
        onQuestion: (form: ElicitRequestFormParams) => this.#answer(form),
        onNote: (what: string, line: string) => this.#note(what, line),
        onToolsChanged: () => this.#refresh(),
        onClose: (why: string) => running && this.#ended(running, why),
      };
      connection = await connect({ ...this.options, ...listener }, signal);
      const listing = await listingOf(connection.client, { signal, timeout: FOREVER_MS });
      running = { ...connection, listing, worked: false, refreshing: Promise.resolve() };
      this.#running = running;
      this.trouble = null;
      app.log.info('mcp: server running', { server: name, is: oneLine(ownName(running), 80) });
      onListing?.();
      return running;
    } catch (error) {
      await connection?.close().catch(() => {});
      this.closing.throwIfAborted();
      const late = `it was not ready within ${startSeconds} s`;
      const noise = error instanceof AppError ? ` (${this.#reason(error)})` : '';
      const why = limit.signal.aborted ? `${late}${noise}` : this.#reason(error);
      this.#failed(why, this.#failures + 1);
      throw this.#failure(`does not work: ${why}`);
    }
  }

  #ended(running: RunningServer, why: string): void {
    running.ended = why;
    if (this.#running !== running) return;
    this.#running = undefined;
    this.#failures = running.worked ? 0 : this.#failures + 1;
    // Once may be chance; from the second time on it waits.
    if (this.#failures > 1) return this.#failed(why, this.#failures);
    this.options.app.log.warn('mcp: server ended; the next call starts it again', { server: this.options.name, why });
  }

  #failed(why: string, failures: number): void {
    const { name, app } = this.options;
    this.#failures = failures;
    this.trouble = why;
    const waitMs = backoffMs(failures, BACKOFF, app.random);
    this.#retryAt = app.clock.monotonic() + waitMs;
    app.log.warn('mcp: server does not work', { server: name, why, waitMs });
  }

  /** After a call was given up: ends the server with all its processes if it doesn't answer a ping. */
  async #endIfDead(running: RunningServer): Promise<void> {
    try {
      await running.client.ping({ timeout: ALIVE_MS });
    } catch {
      if (this.#running !== running) return;
      this.options.app.log.warn('mcp: server does not answer and is ended', { server: this.options.name });
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
    const { settings, onListing } = this.options;
    running.refreshing = running.refreshing.then(async () => {
      try {
        running.listing = await listingOf(running.client, { timeout: settings.timeouts.startSeconds * 1000 });
        if (this.#running === running) onListing?.();
      } catch (error) {
        this.#note('the new list of tools of an MCP server could not be read', this.#reason(error));
      }
    });
  }

  /**
   * Whether the server gets its form back with the form's own defaults: if it is clear for which call it asks and nothing
   * else is required, the person behind the turn decides. No answer and nobody to ask are a no.
   */
  async #answer({ message, requestedSchema }: ElicitRequestFormParams): Promise<boolean> {
    const [call, ...others] = this.#calls;
    const { properties, required = [] } = requestedSchema;
    const defaults = Object.entries(properties).map(([key, field]) => [key, field.default] as const);
    const suggested = Object.fromEntries(defaults.filter(([, value]) => value !== undefined));
    const isWhole = required.every((key) => Object.hasOwn(suggested, key));
    if (call === undefined || others.length > 0 || !isWhole) return false;
    const answer = Object.keys(suggested).length === 0 ? '(an empty form)' : JSON.stringify(suggested, null, 2);
    call.limit.pause();
    try {
      const { approved } = await call.context.people.approve({
        title: `Answer the MCP server ${this.options.name}`,
        detail: `It asks: ${oneLine(message, LONGEST_QUESTION)}\nThe answer would be: ${answer}`,
        reason: 'an MCP server asks this in the middle of a call',
      });
      return approved;
    } finally {
      if (this.#calls.has(call)) call.limit.resume();
    }
  }

  #showProgress({ people }: ToolContext, { progress, total = 0, message = '' }: Progress): void {
    const now = this.options.app.clock.monotonic();
    if (now - this.#progressAt < PROGRESS_EVERY_MS) return;
    this.#progressAt = now;
    const share = total <= 0 ? String(progress) : `${progress} of ${total}`;
    const line = message === '' ? share : `${message} (${share})`;
    people.progress(oneLine(`${this.options.name}: ${line}`, 80));
  }

  #note(message: string, line: string): void {
    const { name, app } = this.options;
    const now = app.clock.monotonic();
    if (now - this.#logged.since > LOG_LINES.windowMs) this.#logged = { lines: 0, since: now };
    this.#logged.lines += 1;
    const { lines } = this.#logged;
    if (lines <= LOG_LINES.most)
      app.log.info(message, { server: name, line: oneLine(app.redact(line), LONGEST_REASON) });
    if (lines === LOG_LINES.most)
      app.log.info('mcp: more lines of a server are left out for a while', { server: name });
  }

  #reason(error: unknown): string {
    return oneLine(this.options.app.redact(withoutReports(errorMessage(error))), LONGEST_REASON);
  }

  /** `what` may hold the server's words; `own` is ours. `doubtful`: what was asked of it may have been done. */
  #failure(what: string, own = '', doubtful = false): OwnWordsError {
    const said = what === '' ? '' : `The MCP server ${this.options.name} ${what}.`;
    return new OwnWordsError('mcp-server', { said, own, doubtful });
  }
}

/** A server's own name and version, as it says. */
export function ownName({ client }: Connection): string {
  const { name = 'unnamed', version = '' } = client.getServerVersion() ?? {};
  return `${name} ${version}`.trim();
}

/**
 * A time limit that can be paused, whose signal aborts with an outer one too. Nothing aborts it once it is disposed of: the SDK listens to
 * the signal of a request for good, and would cancel the request after its end.
 */
function timeLimit(clock: Clock, ms: number, outer: AbortSignal) {
  const controller = new AbortController();
  const abort = (): void => controller.abort(outer.reason);
  let leftMs = ms;
  let since = 0;
  let timer: Disposable;
  let pauses = 0;
  const start = (): void => {
    since = clock.monotonic();
    timer = clock.timer(leftMs, abort, { keepAlive: true });
  };
  start();
  outer.addEventListener('abort', abort, { once: true });
  return {
    signal: controller.signal,
    pause: () => {
      pauses += 1;
      if (pauses > 1) return;
      timer[Symbol.dispose]();
      leftMs = Math.max(1, leftMs - (clock.monotonic() - since));
    },
    /** Ends a pause; of several at once the last one counts. */
    resume: () => {
      pauses -= 1;
      if (pauses === 0) start();
    },
    [Symbol.dispose]: () => {
      outer.removeEventListener('abort', abort);
      timer[Symbol.dispose]();
    },
  };
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
