import * as z from 'zod';
import type { ConsolidationRow, Consolidations, ConsolidationState } from '../../journal/consolidations.ts';
import type { ConsolidationPart } from './question.ts';

/** A new text of MEMORY.md on its way there. */
const memoryChange = z.object({
  /** The text that it was made from, and its hash. */
  base: z.string(),
  hash: z.string(),
  update: z.string(),
  /** It was made from words of strangers. */
  untrusted: z.boolean(),
  /** The model was asked again because the file had changed. */
  askedAgain: z.boolean(),
});

/** What a part of the chunk leaves behind, not yet everywhere it belongs. */
const answer = z.object({
  /** The `turn-end` that the part goes up to; null when it is only a note. */
  upTo: z.string().nullable(),
  turns: z.array(z.string()),
  /** The note was part of it. */
  noted: z.boolean(),
  /** For the summary. */
  entry: z.string(),
  /** For HISTORY.md, rendered, so that writing it again is found out. */
  paragraphs: z.array(z.string()),
  /** Null: MEMORY.md stays as it is. */
  memory: memoryChange.nullable(),
});

const question = memoryChange.extend({ why: z.enum(['shrinks', 'untrusted']) });

const progress = z.object({
  /** Of the parts that are in HISTORY.md, oldest first. */
  entries: z.array(z.string()),
  turns: z.array(z.string()),
  doneTo: z.string().nullable(),
  noted: z.boolean(),
  answer: answer.nullable(),
  /** Changes of MEMORY.md that the owner has to agree to. */
  questions: z.array(question),
  memory: z.enum(['unchanged', 'changed']),
  /** There is nothing more to do on the tape. */
  settled: z.boolean(),
  /** Its anchor is on the tape, so that later summaries begin with its entries. */
  anchored: z.boolean(),
});

export type MemoryChange = z.infer<typeof memoryChange>;
export type MemoryQuestion = z.infer<typeof question>;
export type ConsolidationAnswer = z.infer<typeof answer>;
/** How far one archive is; what is written to the journal between its steps. */
export type ConsolidationProgress = z.infer<typeof progress>;

const NOTHING: ConsolidationProgress = {
  entries: [],
  turns: [],
  doneTo: null,
  noted: false,
  answer: null,
  questions: [],
  memory: 'unchanged',
  settled: false,
  anchored: false,
};

/** A row of an unknown shape begins anew: the tape is still there. */
export function readProgress({ result }: Pick<ConsolidationRow, 'result'>): ConsolidationProgress {
  if (result === null) return NOTHING;
  try {
    return progress.safeParse(JSON.parse(result)).data ?? NOTHING;
  } catch {
    return NOTHING;
  }
}

/** What a finished row keeps: enough for the summaries of later ones. */
function finishedProgress(done: ConsolidationProgress): ConsolidationProgress {
  return { ...done, answer: null, questions: [] };
}

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
