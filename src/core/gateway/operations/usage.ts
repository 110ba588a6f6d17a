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

/** The sums of one day of one model, source or job. */
export interface UsageOfDay extends UsageSums {
  /** Its date, `2026-11-25`, in the time zone of the person. */
  readonly day: string;
}

export interface UsageSeries {
  /** Milliseconds since 1970. */
  readonly since: number;
  /** Over all days, the most costly first; beyond eleven they are together as `other`. */
  readonly rows: readonly UsageSums[];
  /** Oldest first; days without a call are left out. */
  readonly days: readonly UsageOfDay[];
  /** Share of the input tokens that came from the cache of the provider, 0 to 1; null: there was no call. */
  readonly cacheHitRate: number | null;
  /** The budgets of a whole day that are set, as of today. */
  readonly budgets: readonly {
    /** The setting. */
    readonly name: string;
    readonly unit: 'usd' | 'tokens';
    readonly limit: number;
    readonly used: number;
    readonly left: number;
  }[];
}

export const usage = {
  usageSeries: answers<UsageSeries>()({
    description:
      'Returns tokens and cost of each of the last days by model, source or job, the share of cached input, and what is left of the budgets of today.',
    role: 'owner',
    changes: false,
    params: z.object({
      by: z.enum(['model', 'source', 'job']).describe('What the sums of a day are told apart by.'),
      days: z.int().min(1).max(366).describe('How many days, today included.'),
    }),
  }),
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
