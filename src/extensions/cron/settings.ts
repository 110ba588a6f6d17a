import { count, flag, section, takes, z } from '../../core/api.ts';

/** Scheduled jobs. */
export const cron = section(
  'cron',
  'live',
  z
    .object({
      enabled: takes('restart', flag(true, 'Whether scheduled jobs run.')),
      catchUp: z
        .enum(['once', 'skip'])
        .default('once')
        .describe('For runs that were missed while the assistant was off: `once` makes one late run, `skip` none.'),
      graceMinutes: count(720, 0, 'How late a missed run may still start, in minutes.'),
      maxConcurrent: count(2, 1, 'Maximum number of jobs that run at the same time.'),
    })
    .prefault({})
    .describe('Scheduled jobs.'),
);
