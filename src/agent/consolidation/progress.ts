import * as z from 'zod';
import type { ConsolidationRow } from '../../journal/consolidations.ts';

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
export function finishedProgress(done: ConsolidationProgress): ConsolidationProgress {
  return { ...done, answer: null, questions: [] };
}
