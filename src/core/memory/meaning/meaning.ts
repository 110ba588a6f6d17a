import { deadline, raceAbort, type Clock } from '../../util/clock.ts';
import { errorMessage } from '../../util/errors.ts';
import type { Logger } from '../../util/log.ts';
import { cut } from '../../util/text.ts';
import type { QuestionVector } from '../search/search-index.ts';
import type { WorkerResults, WorkerTasks } from '../search/search-worker.ts';

/** A model that makes vectors of texts. */
export interface Embedder {
  /** Names the model with all that makes its vectors others: those of two models are never compared. */
  readonly model: string;
  /** One vector for each text, in their order. Rejects with a sentence, which may be shown to the owner. */
  embed(texts: readonly string[], signal: AbortSignal): Promise<readonly (readonly number[])[]>;
  /** Null: more texts of the index may be embedded now; else a sentence that says why not, without a full stop. */
  refusal(): Promise<string | null>;
  /** Whether an error says that the server does not take these texts, so that it is no use to send them again. */
  isRefusedText(error: unknown): boolean;
}

/** How far the texts of the index have vectors, and what keeps the rest from it. */
export interface MeaningState {
  /** Null: not counted yet. */
  readonly counts: { readonly embedded: number; readonly total: number } | null;
  /** Why the server did not answer last; null: it did. */
  readonly trouble: string | null;
  /** Why no more texts are embedded for now; null: nothing keeps them from it. */
  readonly paused: string | null;
}

export interface MeaningOptions {
  /** The model that is configured now; null: none. */
  readonly embedder: () => Embedder | null;
  readonly clock: Clock;
  readonly log: Logger;
}

type Ask = <T extends 'missing' | 'keep'>(type: T, task: WorkerTasks[T]) => Promise<WorkerResults[T]>;

/** A person waits for a search. */
const QUESTION_MS = 4_000;
/** A small machine may take long for a batch. */
const BATCH_MS = 120_000;
/** Characters; a shorter text is not refused because of its length. */
const SHORTEST = 200;
const BATCH = { most: 32, characters: 16_000 };
const FIRST_RETRY_MS = 30_000;
const LONGEST_RETRY_MS = 3_600_000;
/** After the daily budget. */
const PAUSE_MS = 1_800_000;

/**
 * Asks a server for the vectors of questions, and in the background for those of the texts in the index, the newest first. What it
 * has made is on the disk after each batch, so that a restart goes on where it was. While the server does not answer, it is asked
 * again later and later, and searches go by words.
 */
export class Meaning implements AsyncDisposable {
  readonly #options: MeaningOptions;
  readonly #ask: Ask;
  readonly #closing = new AbortController();
  #running: Promise<void> | undefined;
  /** `schedule` was called while it ran: what is new since may not have been seen. */
  #isBehind = false;
  #retry: Disposable | undefined;
  #failures = 0;
  #retryAt = 0;
  #model: string | null = null;
  /** Of the vectors of the model; undefined: not known yet. */
  #dimensions: number | undefined;
  #state: MeaningState = UNKNOWN;

  constructor(options: MeaningOptions, ask: Ask) {
    this.#options = options;
    this.#ask = ask;
  }

  get state(): MeaningState {
    return this.#embedder() === null ? UNKNOWN : this.#state;
  }

  /** What a question means; null: it is searched by words, because no model is set or its server does not answer. */
  async ofQuestion(text: string): Promise<QuestionVector | null> {
    const embedder = this.#embedder();
    if (embedder === null || text.trim() === '' || this.#options.clock.monotonic() < this.#retryAt) return null;
    const vector = await this.#tried(async () => (await this.#embed(embedder, [text], QUESTION_MS))[0]);
    if (vector === undefined) return null;
    this.#dimensions ??= vector.length;
    if (this.#dimensions !== vector.length) this.#begun(embedder.model);
    if (this.#state.counts === null) this.schedule();
    return { model: `${embedder.model}/${vector.length}`, vector: unit(vector) };
  }

  /** Embeds what is missing, in the background. While it does, it looks once more at the end. */
  schedule(): void {
    if (this.#running !== undefined) {
      this.#isBehind = true;
      return;
    }
    if (this.#closing.signal.aborted || this.#embedder() === null) return;
    this.#retry?.[Symbol.dispose]();
    this.#running = this.#embedMissing()
      .catch((error: unknown) => {
        if (this.#closing.signal.aborted) return;
        this.#options.log.warn('meaning: index not read', { reason: errorMessage(error) });
      })
      .finally(() => (this.#running = undefined));
  }

  /** Resolves when nothing is missing any more, or the server does not answer. */
  async finished(): Promise<void> {
    this.schedule();
    await this.#running;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    this.#retry?.[Symbol.dispose]();
    await this.#running;
  }

  async #embedMissing(): Promise<void> {
    for (;;) {
      const embedder = this.#embedder();
      if (embedder === null || this.#closing.signal.aborted) return;
      const waitMs = this.#retryAt - this.#options.clock.monotonic();
      if (waitMs > 0) return this.#again(waitMs);
      // How many numbers the model gives belongs to its name, so it is asked for once.
      this.#dimensions ??= await this.#tried(
        async () => (await this.#embed(embedder, ['memory'], BATCH_MS))[0]?.length,
      );
      if (this.#dimensions === undefined) continue;
      const model = `${embedder.model}/${this.#dimensions}`;
      const { texts, ...counts } = await this.#ask('missing', { model, ...BATCH });
      this.#state = { ...this.#state, counts };
      if (texts.length === 0 && !this.#isBehind) return;
      this.#isBehind = false;
      if (texts.length === 0) continue;
      const paused = await embedder.refusal();
      this.#state = { ...this.#state, paused };
      if (paused !== null) return this.#again(PAUSE_MS);
      const made = await this.#tried(() => this.#vectorsOf(embedder, texts));
      if (made !== undefined && embedder.model === this.#model) await this.#ask('keep', { model, made });
    }
  }

  /** Undefined: the server did not answer, which is noted. */
  async #tried<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      const result = await work();
      this.#answered();
      return result;
    } catch (error) {
      this.#failed(error);
      return undefined;
    }
  }

  /** A text that the server does not take is found by halves, and its beginning is taken, half as long each time; a short one gets an empty vector. */
  async #vectorsOf(embedder: Embedder, texts: WorkerResults['missing']['texts']): Promise<WorkerTasks['keep']['made']> {
    try {
      const vectors = await this.#embed(
        embedder,
        texts.map(({ text }) => text),
        BATCH_MS,
      );
      return texts.map((one, at) => ({ ...one, vector: unit(vectors[at] ?? []) }));
    } catch (error) {
      if (!embedder.isRefusedText(error)) throw error;
      const [only, ...others] = texts;
      if (only === undefined) return [];
      if (others.length === 0) {
        if (only.text.length > SHORTEST) {
          const [half] = await this.#vectorsOf(embedder, [
            { ...only, text: cut(only.text, Math.floor(only.text.length / 2)) },
          ]);
          return [{ ...only, vector: half?.vector ?? new Float32Array(0) }];
        }
        return [{ ...only, vector: new Float32Array(0) }];
      }
      const half = Math.ceil(texts.length / 2);
      const first = await this.#vectorsOf(embedder, texts.slice(0, half));
      return [...first, ...(await this.#vectorsOf(embedder, texts.slice(half)))];
    }
  }

  async #embed(embedder: Embedder, texts: readonly string[], ms: number): Promise<readonly (readonly number[])[]> {
    using limit = deadline(this.#options.clock, ms, 'the server for embeddings');
    const signal = AbortSignal.any([limit.signal, this.#closing.signal]);
    const vectors = await raceAbort(embedder.embed(texts, signal), signal);
    if (
      vectors.length !== texts.length ||
      vectors.some((vector) => vector.length === 0 || !vector.every(Number.isFinite))
    )
      throw new Error('it sent vectors that cannot be used');
    if (texts.length > 1 && vectors.some(({ length }) => length !== this.#dimensions)) {
      this.#dimensions = undefined;
      throw new Error('it sends vectors of another length than before');
    }
    return vectors;
  }

  /** Another model begins anew, and what was wrong with the one before does not count. */
  #embedder(): Embedder | null {
    const embedder = this.#options.embedder();
    const model = embedder?.model ?? null;
    if (model !== this.#model) {
      this.#begun(model);
    }
    return embedder;
  }

  #begun(model: string | null): void {
    this.#model = model;
    this.#dimensions = undefined;
    this.#state = UNKNOWN;
    this.#answered();
  }

  #answered(): void {
    this.#failures = 0;
    this.#retryAt = 0;
    this.#state = { ...this.#state, trouble: null };
  }

  #failed(error: unknown): void {
    if (this.#closing.signal.aborted) return;
    const { clock, log } = this.#options;
    const reason = errorMessage(error);
    const waitMs = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** this.#failures);
    if (this.#failures === 0) log.warn('meaning: server did not answer, searches go by words', { reason });
    this.#failures += 1;
    this.#retryAt = clock.monotonic() + waitMs;
    this.#state = { ...this.#state, trouble: reason };
    this.#again(waitMs);
  }

  #again(ms: number): void {
    this.#retry?.[Symbol.dispose]();
    this.#retry = this.#options.clock.timer(ms, () => this.schedule());
  }
}

const UNKNOWN: MeaningState = { counts: null, trouble: null, paused: null };

/** Of length 1. */
function unit(vector: readonly number[]): Float32Array {
  let squares = 0;
  for (const value of vector) squares += value * value;
  const length = Math.sqrt(squares);
  return Float32Array.from(vector, (value) => (length === 0 ? 0 : value / length));
}
