import * as z from 'zod';
import { answers } from './operation.ts';

/** The model calls of a day, model, source, session or job. */
export interface UsageSums {
  readonly name: string;
  readonly calls: number;
  /** Tokens; `input` counts the cached ones too. */
  readonly input: number;
  readonly cached: number;
  readonly output: number;
  /** US dollars, of the calls whose price is known. */
  readonly costUsd: number;
  /** Calls whose price is unknown. */
  readonly unpriced: number;
}

export const usage = {
  usage: answers<{ /** Milliseconds since 1970. */ readonly since: number; readonly rows: readonly UsageSums[] }>()({
    description: 'Returns tokens and cost of the model calls of the last days, today included.',
    role: 'owner',
    changes: false,
    params: z.object({
      by: z.enum(['day', 'model', 'source', 'session', 'job']).describe('One row for each of these.'),
      days: z.int().min(1).max(3_660).describe('How many days.'),
    }),
  }),
};
