import type { ConsolidationRow, Consolidations, ConsolidationState } from '../../journal/consolidations.ts';
import { finishedProgress, readProgress, type ConsolidationAnswer, type ConsolidationProgress } from './progress.ts';
import type { ConsolidationPart } from './question.ts';

/** One archive while it is worked on: what is known of it is in the journal before the next step. */
export class RecordWriter {
  readonly row: ConsolidationRow;
  readonly #consolidations: Consolidations;
  #progress: ConsolidationProgress;
  #failures: number;

  constructor(row: ConsolidationRow, consolidations: Consolidations) {
    this.row = row;
    this.#consolidations = consolidations;
    this.#progress = readProgress(row);
    this.#failures = row.failures;
  }

  get progress(): ConsolidationProgress {
    return this.#progress;
  }

  /** Of its anchor, and of what it used. */
  get anchorId(): string {
    return `archive:${this.row.id}`;
  }

  /** For the log. */
  get facts(): Record<string, unknown> {
    return { session: this.row.session, archive: this.row.id };
  }

  /** One more failure in a row; returns how many that makes. */
  async failed(): Promise<number> {
    this.#failures += 1;
    await this.#consolidations.save(this.row.id, { failures: this.#failures });
    return this.#failures;
  }

  answered(part: ConsolidationPart, said: Pick<ConsolidationAnswer, 'entry' | 'memory' | 'paragraphs'>): Promise<void> {
    return this.save({
      answer: {
        ...said,
        upTo: part.turns.at(-1)?.end ?? null,
        turns: part.turns.map((turn) => turn.id),
        noted: part.note !== null,
      },
    });
  }

  /** The answer is where it belongs. */
  written({ entry, turns, upTo, noted }: ConsolidationAnswer, change: Partial<ConsolidationProgress>): Promise<void> {
    const before = this.#progress;
    this.#failures = 0;
    return this.save({
      ...change,
      answer: null,
      entries: [...before.entries, entry],
      turns: [...before.turns, ...turns],
      doneTo: upTo ?? before.doneTo,
      noted: before.noted || noted,
    });
  }

  /** There is nothing more to do on the tape. */
  settle(anchored: boolean): Promise<void> {
    return this.save({ settled: true, anchored });
  }

  async save(change: Partial<ConsolidationProgress>): Promise<void> {
    this.#progress = { ...this.#progress, ...change };
    const state = this.#progress.answer === null && !this.#progress.settled ? 'pending' : 'answered';
    const result = JSON.stringify(this.#progress);
    await this.#consolidations.save(this.row.id, { state, result, failures: this.#failures });
  }

  /** It is finished. `upTo`: how far it came, where that is not as far as it was to go. */
  async end(state: Extract<ConsolidationState, 'done' | 'dropped'>, upTo?: string | null): Promise<void> {
    const result = JSON.stringify(finishedProgress(this.#progress));
    await this.#consolidations.save(this.row.id, { state, result, ...(typeof upTo === 'string' ? { upTo } : {}) });
  }

  /** It only came so far, and there is a question left. */
  async cut(upTo: string | null): Promise<void> {
    if (upTo !== null) await this.#consolidations.save(this.row.id, { upTo });
    await this.settle(false);
  }
}
