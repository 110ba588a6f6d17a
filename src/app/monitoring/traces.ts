import type { HookRunner } from '../../agent/hooks/hooks.ts';
import type { Environment } from '../../config/environment.ts';
import type { Sessions } from '../../session/sessions.ts';
import { deadline, raceAbort, type Clock } from '../../util/clock.ts';
import { errorCode, errorMessage } from '../../util/errors.ts';
import type { Logger } from '../../util/log.ts';
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
export function traceTarget(env: Environment, log: Logger): TraceTarget | null {
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

export interface TracesPorts {
  readonly target: TraceTarget;
  readonly hooks: Pick<HookRunner, 'register'>;
  readonly sessions: Pick<Sessions, 'open'>;
  readonly version: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Sends the spans of each turn that ended to a collector (OTLP over HTTP, as JSON). What cannot be sent is dropped and
 * logged; no turn waits for it.
 */
export class Traces implements AsyncDisposable {
  readonly #ports: TracesPorts;
  readonly #hook: Disposable;
  #waiting: Span[] = [];
  #timer: Disposable | undefined;
  #sending: Promise<void> = Promise.resolve();
  #toldAt: number | undefined;
  readonly #closed = new AbortController();

  constructor(ports: TracesPorts) {
    this.#ports = ports;
    this.#hook = ports.hooks.register('traces', {
      turnEnd: ({ sessionKey, turnId }) => this.#ended(sessionKey, turnId),
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#hook[Symbol.dispose]();
    this.#send();
    using limit = deadline(this.#ports.clock, LAST_MS, 'The collector of traces');
    await raceAbort(this.#sending, limit.signal).catch(() => {});
    this.#closed.abort();
  }

  async #ended(sessionKey: string, turn: string): Promise<void> {
    try {
      const session = await this.#ports.sessions.open(sessionKey, { turn });
      this.#waiting.push(...turnSpans(sessionKey, turn, session.turn(turn)));
    } catch (error) {
      this.#tell(errorMessage(error));
    }
    this.#waiting = this.#waiting.slice(-MOST_WAITING);
    if (this.#waiting.length >= BATCH) this.#send();
    else if (this.#waiting.length > 0) this.#timer ??= this.#ports.clock.timer(SEND_AFTER_MS, () => this.#send());
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
    const { target, clock, version } = this.#ports;
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
    const { clock, log, target } = this.#ports;
    const now = clock.monotonic();
    if (this.#toldAt !== undefined && now - this.#toldAt < TELL_EVERY_MS) return;
    this.#toldAt = now;
    log.warn('traces: not sent', { collector: new URL(target.url).host, reason });
  }
}

/** An `ExportTraceServiceRequest`. */
function traceRequest(spans: readonly Span[], { service, version }: { service: string; version: string }): unknown {
  const attributes = attributesOf({ 'service.name': service, 'service.version': version });
  return {
    resourceSpans: [{ resource: { attributes }, scopeSpans: [{ scope: { name: 'assistant', version }, spans }] }],
  };
}
