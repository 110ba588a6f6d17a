import type { App } from '../../app.ts';
import type { OutboundEvent, TurnSummary } from '../../bus/messages.ts';
import { sleep } from '../../util/clock.ts';
import { noUsage } from '../../util/token-usage.ts';
import { AnswerText } from './answer-text.ts';
import { asJson } from './bare-json.ts';
import { ApiError } from './errors.ts';
import { keyOf, type MessageRef } from './identity.ts';
import type { MessagePlace, TurnRecord } from './backend.ts';

/** A turn whose end was missed is found in the journal after this time. */
const LOOK_MS = 5_000;

/** The turn that answers one message of a program, from the moment at which it is created until its end. */
export class FollowedTurn implements Disposable {
  readonly ref: MessageRef;
  readonly session: string;
  readonly #app: App;
  readonly #json: boolean;
  readonly #text = new AnswerText();
  readonly #others = new Set<string>();
  readonly #listener: Disposable;
  #turnId: string | null = null;
  #summary: TurnSummary | null = null;
  #isOver = false;
  #isLive: boolean;
  #wake = Promise.withResolvers<void>();

  /** `json`: the answer is JSON, of which pieces that were sent can't be taken back, so it comes as a whole at the end. */
  constructor(ref: MessageRef, session: string, app: App, { json = false }: { readonly json?: boolean } = {}) {
    this.ref = ref;
    this.session = session;
    this.#app = app;
    this.#json = json;
    this.#isLive = !json;
    this.#listener = app.bus.listen((event) => this.#hear(event));
  }

  /** Call it when the message was accepted before: its text is then given at the end only, because its beginning was missed. */
  isLate(): void {
    this.#isLive = false;
    this.#look();
  }

  /**
   * The answer, piece by piece; pieces that nobody has waited for are joined. Returns how the turn ended. Rejects with the
   * reason of the signal when that aborts, and with `ApiError` 503 when the process stops.
   */
  async *pieces(signal: AbortSignal): AsyncGenerator<string, TurnRecord, void> {
    const { closing } = this.#app;
    const ended = AbortSignal.any([signal, closing]);
    while (!this.#isOver) {
      const piece = this.#text.take();
      if (piece !== '') yield piece;
      else await this.#event(ended);
      if (closing.aborted && !this.#isOver) throw stopping();
      signal.throwIfAborted();
    }
    const record = await this.#record();
    this.#text.end({ whole: record.text, last: record.last });
    const rest = this.#text.take();
    if (rest !== '') yield rest;
    return record;
  }

  /** Resolves when the turn has ended. Rejects as `pieces` does. */
  async end(signal: AbortSignal): Promise<TurnRecord> {
    const pieces = this.pieces(signal);
    for (;;) {
      const next = await pieces.next();
      if (next.done === true) return next.value;
    }
  }

  [Symbol.dispose](): void {
    this.#listener[Symbol.dispose]();
  }

  async #event(signal: AbortSignal): Promise<void> {
    const done = new AbortController();
    const late = sleep(this.#app.clock, LOOK_MS, AbortSignal.any([signal, done.signal])).then(
      () => this.#look(),
      () => {},
    );
    await Promise.race([this.#wake.promise, late]);
    done.abort();
    this.#wake = Promise.withResolvers<void>();
  }

  #hear(event: OutboundEvent): void {
    if (event.sessionKey !== this.session || this.#isOver) return;
    if (event.type === 'turn-end') {
      if (!event.answers.includes(keyOf(this.ref).externalId)) return;
      this.#turnId = event.turnId;
      this.#summary = event.result;
      this.#isOver = true;
      this.#wake.resolve();
      return;
    }
    if (!this.#isLive || !this.#isOurs(event.turnId)) return;
    if (event.type === 'tool-start') this.#text.endText();
    if (event.type !== 'text') return;
    this.#text.show(event.text);
    this.#wake.resolve();
  }

  #isOurs(turnId: string): boolean {
    if (this.#turnId !== null) return turnId === this.#turnId;
    if (this.#others.has(turnId)) return false;
    const place = this.#app.api.find(keyOf(this.ref));
    if (place?.turnId === turnId) this.#turnId = turnId;
    else this.#others.add(turnId);
    return this.#turnId === turnId;
  }

  #look(): void {
    const place = this.#app.api.find(keyOf(this.ref));
    if (place !== undefined && !isOver(place)) return;
    this.#turnId = place?.turnId ?? null;
    this.#isOver = true;
    this.#wake.resolve();
  }

  async #record(): Promise<TurnRecord> {
    const kept = this.#turnId === null ? null : await this.#app.api.ended(this.session, this.#turnId);
    const record = kept ?? recordOf(this.#summary, this.#app.api.find(keyOf(this.ref)));
    return this.#json ? asJson(record) : record;
  }
}

/** Whether no turn will answer a message any more than one has. */
export function isOver({ state }: MessagePlace): boolean {
  return state !== 'accepted' && state !== 'running';
}

/** How a message without a turn on the tape ended: it was dropped, or a hook of a plugin refused it. */
export function recordOf(summary: TurnSummary | null, place: MessagePlace | undefined): TurnRecord {
  const isStopped = summary?.outcome === 'stopped' || place?.reason === 'stopped';
  return {
    outcome: isStopped ? 'stopped' : 'failed',
    text: '',
    last: '',
    reason: summary?.text ?? (isStopped ? 'It was stopped.' : 'The message was not answered.'),
    usage: summary?.usage ?? noUsage,
  };
}

function stopping(): ApiError {
  return new ApiError(
    503,
    'The assistant is stopping. It continues with this turn when it runs again; GET /v1/responses/ID then has the answer of a response.',
    { code: 'stopping' },
  );
}
