import * as z from 'zod';
import { count, optionalCount, optionalUsd, takes } from './values.ts';

export const modelReference = () =>
  z.string().regex(/^(?:auto|[^/\s]+\/\S+)$/u, {
    error: 'expected "auto" or "provider/model", e.g. "anthropic/claude-sonnet-5-5"',
  });

const budget = z
  .object({
    turnUsd: optionalUsd('Most dollars for one turn; null is no limit.'),
    chatDayUsd: optionalUsd('Most dollars a day for one chat; null is no limit.'),
    dayUsd: optionalUsd('Most dollars a day in all; null is no limit.'),
    turnTokens: optionalCount('Most tokens for one turn; null is no limit.'),
    dayTokens: optionalCount('Most tokens a day in all; null is no limit.'),
    selfDayTokens: count(2_000_000, 0, 'Most tokens a day for work that it starts by itself (heartbeat, cron).'),
    jobTokens: count(300_000, 0, 'Most tokens for one run of a scheduled job.'),
  })
  .prefault({})
  .describe('Limits that are checked before each model call.');

export const agentSchema = z
  .object({
    model: modelReference()
      .default('auto')
      .describe('`provider/model`, or `auto`: the first provider that has a key, with its default model.'),
    fallbacks: z
      .array(modelReference())
      .default([])
      .describe('Models that are tried in this order when the first one fails.'),
    maxIterations: count(40, 1, 'Most model calls in one turn.'),
    maxOutputTokens: count(8192, 1, 'Most tokens in one answer of the model.'),
    contextWindow: optionalCount('Tokens that the model can read; null: what is known of the model.'),
    temperature: z
      .number()
      .min(0)
      .max(2)
      .nullable()
      .default(null)
      .describe('Sampling temperature; null: the model’s own.'),
    reasoning: z
      .enum(['off', 'low', 'medium', 'high'])
      .default('off')
      .describe('How long the model may think before it answers.'),
    timezone: takes(
      'restart',
      z
        .string()
        .refine(isTimezone, { error: 'expected a time zone such as "Europe/Vienna"' })
        .nullable()
        .default(null)
        .describe('Time zone of the owner, e.g. `Europe/Vienna`; null: the machine’s.'),
    ),
    whenBusy: z
      .enum(['steer', 'queue', 'interrupt'])
      .default('steer')
      .describe('What a message does that arrives during a turn: joins it, waits for its end, or stops it.'),
    debounceMs: count(0, 0, 'How long a message waits for more before a turn starts, in milliseconds.'),
    maxConcurrentTurns: takes('restart', count(64, 1, 'Model calls and tool runs at once, over all chats.')),
    turnTimeoutMinutes: count(30, 1, 'Time limit for one turn, in minutes; the user is told when it is reached.'),
    toolResultChars: takes(
      'restart',
      count(16_000, 1000, 'Characters of a tool result that the model sees; the rest is kept aside.'),
    ),
    maxSubagents: takes('restart', count(3, 0, 'Subagents at once.')),
    budget,
  })
  .prefault({})
  .describe('The model and how a turn runs.');

function isTimezone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}
