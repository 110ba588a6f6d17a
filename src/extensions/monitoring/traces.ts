import { deadline, errorCode, errorMessage, raceAbort, type App, type Logger } from '../../core/api.ts';
import { attributesOf, turnSpans, type Span } from './spans.ts';

/** Spans that wait are sent after this time, or when there are `BATCH` of them. */
const SEND_AFTER_MS = 5_000;
const BATCH = 512;
/** At most this many spans wait; the oldest are dropped. */
const MOST_WAITING = 4_096;
const SEND_MS = 10_000;
/** How long the end of the process waits for the last spans. */
const LAST_MS = 2_000;
/** A failure is logged at most once in this time. */
const TELL_EVERY_MS = 3_600_000;

/** Where spans are sent to, as OpenTelemetry's variables say. */
export interface TraceTarget {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly service: string;
}

/** Reads the variables of OpenTelemetry; null: they ask for no traces. Logs an address that is none. */
export function traceTarget(env: App['env'], log: Logger): TraceTarget | null {
  const base = env['OTEL_EXPORTER_OTLP_ENDPOINT']?.replace(/\/+$/u, '');
  const url = env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] ?? (base === undefined ? undefined : `${base}/v1/traces`);
  if (url === undefined || env['OTEL_SDK_DISABLED']?.toLowerCase() === 'true') return null;
  if (!/^https?:$/u.test(URL.parse(url)?.protocol ?? '')) {
    log.warn('traces: off, because OTEL_EXPORTER_OTLP_ENDPOINT is no http:// or https:// address');
    return null;
  }
  const headers = env['OTEL_EXPORTER_OTLP_TRACES_HEADERS'] ?? env['OTEL_EXPORTER_OTLP_HEADERS'] ?? '';
  return { url, headers: pairs(headers), service: env['OTEL_SERVICE_NAME'] ?? 'assistant' };
}

/** `name=value,name=value`, with percent-encoded values. */
function pairs(text: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    text.split(',').flatMap((pair) => {
      const [name = '', ...value] = pair.split('=');
      return name.trim() === '' || value.length === 0 ? [] : [[name.trim(), decoded(value.join('=').trim())]];
    }),
  );
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * Sends the spans of each turn that ended to a collector (OTLP over HTTP, as JSON). What cannot be sent is dropped and
 * logged; no turn waits for it.
 */
export class Traces implements AsyncDisposable {
  readonly #app: App;
  readonly #target: TraceTarget;
  readonly #hook: Disposable;
  #waiting: Span[] = [];
  #timer: Disposable | undefined;
  #sending: Promise<void> = Promise.resolve();
  #toldAt: number | undefined;
  readonly #closed = new AbortController();

  constructor(app: App, target: TraceTarget) {
    this.#app = app;
    this.#target = target;
    this.#hook = app.hooks.register('traces', {
      turnEnd: ({ sessionKey, turnId }) => this.#ended(sessionKey, turnId),
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#hook[Symbol.dispose]();
    this.#send();
    using limit = deadline(this.#app.clock, LAST_MS, 'The collector of traces');
    await raceAbort(this.#sending, limit.signal).catch(() => {});
    this.#closed.abort();
  }

  async #ended(sessionKey: string, turn: string): Promise<void> {
    try {
      const session = await this.#app.sessions.open(sessionKey, { turn });
      this.#waiting.push(...turnSpans(sessionKey, turn, session.turn(turn)));
    } catch (error) {
      this.#tell(errorMessage(error));
    }
    this.#waiting = this.#waiting.slice(-MOST_WAITING);
    if (this.#waiting.length >= BATCH) this.#send();
    else if (this.#waiting.length > 0) this.#timer ??= this.#app.clock.timer(SEND_AFTER_MS, () => this.#send());
  }

  /** Sends what waits, after what is being sent. */
  #send(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    this.#sending = this.#sending.then(async () => {
      while (this.#waiting.length > 0 && !this.#closed.signal.aborted) {
        await this.#post(this.#waiting.splice(0, BATCH));
      }
    });
  }

  async #post(spans: readonly Span[]): Promise<void> {
    const { clock, version } = this.#app;
    const target = this.#target;
    using limit = deadline(clock, SEND_MS, 'The collector of traces');
    try {
      const response = await fetch(target.url, {
        method: 'POST',
        headers: { ...target.headers, 'Content-Type': 'application/json' },
        body: JSON.stringify(traceRequest(spans, { service: target.service, version })),
        redirect: 'error',
        signal: AbortSignal.any([limit.signal, this.#closed.signal]),
      });
      await response.body?.cancel();
      if (!response.ok) this.#tell(`it answered ${response.status}`);
    } catch (error) {
      this.#tell(errorCode(error) ?? errorMessage(error));
    }
  }

  #tell(reason: string): void {
    const { clock, log } = this.#app;
    const now = clock.monotonic();
    if (this.#toldAt !== undefined && now - this.#toldAt < TELL_EVERY_MS) return;
    this.#toldAt = now;
    log.warn('traces: not sent', { collector: new URL(this.#target.url).host, reason });
  }
}

/** An `ExportTraceServiceRequest`. */
function traceRequest(spans: readonly Span[], { service, version }: { service: string; version: string }): unknown {
  const attributes = attributesOf({ 'service.name': service, 'service.version': version });
  return {
    resourceSpans: [{ resource: { attributes }, scopeSpans: [{ scope: { name: 'assistant', version }, spans }] }],
  };
}
