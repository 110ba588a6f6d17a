import * as z from 'zod';
import type { ConsolidationRow, Consolidations, ConsolidationState } from '../../journal/consolidations.ts';
import type { ConsolidationPart } from './question.ts';

/** A new text of MEMORY.md that is not written yet. */
const memoryChange = z.object({
  /** The text of MEMORY.md that it is based on, and its hash. */
  base: z.string(),
  hash: z.string(),
  update: z.string(),
  /** It was made from untrusted content. */
  untrusted: z.boolean(),
  /** The model was asked a second time because the file had changed. */
  askedAgain: z.boolean(),
  /** Where the facts that it brings were told. */
  told: z.array(z.object({ fact: z.string(), turn: z.string(), at: z.number() })).default([]),
});

/** The model's answer for one part of the conversation, until it is written everywhere. */
const answer = z.object({
  /** Id of the `turn-end` entry that ends the part; null when the part is only a note. */
  upTo: z.string().nullable(),
  turns: z.array(z.string()),
  /** Whether the note was part of it. */
  noted: z.boolean(),
  /** The text for the summary. */
  entry: z.string(),
  /** The rendered paragraphs for HISTORY.md, so that writing them twice is noticed. */
  paragraphs: z.array(z.string()),
  /** Null: MEMORY.md stays as it is. */
  memory: memoryChange.nullable(),
});

const question = memoryChange.extend({ why: z.enum(['shrinks', 'untrusted']) });

const progress = z.object({
  /** The texts of the parts that are written to HISTORY.md, oldest first. */
  entries: z.array(z.string()),
  turns: z.array(z.string()),
  doneTo: z.string().nullable(),
  noted: z.boolean(),
  answer: answer.nullable(),
  /** Changes of MEMORY.md that the owner has to approve. */
  questions: z.array(question),
  memory: z.enum(['unchanged', 'changed']),
  /** No work on the tape is left. */
  settled: z.boolean(),
  /** Its anchor is on the tape, so later summaries begin with its entries. */
  anchored: z.boolean(),
});

export type MemoryChange = z.infer<typeof memoryChange>;
export type MemoryQuestion = z.infer<typeof question>;
export type ConsolidationAnswer = z.infer<typeof answer>;
/** How far a consolidation has come; written to the journal between its steps. */
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

/** The progress in a row; a row that cannot be read starts from the beginning, because the tape is still there. */
export function readProgress({ result }: Pick<ConsolidationRow, 'result'>): ConsolidationProgress {
  if (result === null) return NOTHING;
  try {
    return progress.safeParse(JSON.parse(result)).data ?? NOTHING;
  } catch {
    return NOTHING;
  }
}

/** What a finished row keeps for the summaries of later ones. */
function finishedProgress(done: ConsolidationProgress): ConsolidationProgress {
  return { ...done, answer: null, questions: [] };
}

/** The row of a running consolidation; each change of its progress is saved in the journal. */
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

  /** Id of its anchor, under which its model calls are counted too. */
  get anchorId(): string {
    return `archive:${this.row.id}`;
  }

  /** Fields for the log. */
  get facts(): Record<string, unknown> {
    return { session: this.row.session, archive: this.row.id };
  }

  /** Counts a failure; returns how many there were in a row. */
  async failed(): Promise<number> {
    this.#failures += 1;
    await this.#consolidations.save(this.row.id, { failures: this.#failures });
    return this.#failures;
  }

  /** Saves the model's answer for a part. */
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

  /** Saves that the answer is written everywhere. */
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

  /** Saves that no work on the tape is left. */
  settle(anchored: boolean): Promise<void> {
    return this.save({ settled: true, anchored });
  }

  async save(change: Partial<ConsolidationProgress>): Promise<void> {
    this.#progress = { ...this.#progress, ...change };
    const state = this.#progress.answer === null && !this.#progress.settled ? 'pending' : 'answered';
    const result = JSON.stringify(this.#progress);
    await this.#consolidations.save(this.row.id, { state, result, failures: this.#failures });
  }

  /** Ends the consolidation. `upTo`: id of the entry that it reached, if that is not the one it was meant to reach. */
  async end(state: Extract<ConsolidationState, 'done' | 'dropped'>, upTo?: string | null): Promise<void> {
    const result = JSON.stringify(finishedProgress(this.#progress));
    await this.#consolidations.save(this.row.id, { state, result, ...(typeof upTo === 'string' ? { upTo } : {}) });
  }

  /** Ends it at an earlier entry than planned, while a question to the owner is still open. */
  async endEarly(upTo: string | null): Promise<void> {
    if (upTo !== null) await this.#consolidations.save(this.row.id, { upTo });
    await this.settle(false);
  }
}
