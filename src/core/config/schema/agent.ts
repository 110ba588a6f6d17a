import * as z from 'zod';
import { count, limited, optionalCount, optionalUsd, takes } from './values.ts';

export const modelReference = () =>
  z.string().regex(/^(?:auto|[^/\s]+\/\S+)$/u, {
    error: 'expected "auto" or "provider/model", e.g. "anthropic/claude-sonnet-5-5"',
  });

const budget = z
  .object({
    turnUsd: optionalUsd('Maximum cost of one turn in dollars; null: no limit.'),
    chatDayUsd: optionalUsd('Maximum cost of one chat per day in dollars; null: no limit.'),
    dayUsd: optionalUsd('Maximum cost of everything per day in dollars; null: no limit.'),
    turnTokens: optionalCount('Maximum number of tokens of one turn; null: no limit.'),
    dayTokens: optionalCount('Maximum number of tokens of everything per day; null: no limit.'),
    selfDayTokens: count(
      2_000_000,
      0,
      'Maximum number of tokens per day for work that the assistant starts by itself (heartbeat, scheduled jobs).',
    ),
    guestDayTokens: limited(200_000, 'Maximum number of tokens per day for all guests together; null means no limit.'),
    jobTokens: count(300_000, 0, 'Maximum number of tokens of one run of a scheduled job.'),
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
    maxIterations: count(40, 1, 'Maximum number of model calls in one turn.'),
    maxOutputTokens: count(8192, 1, 'Maximum length of one answer of the model, in tokens.'),
    contextWindow: optionalCount('Context window of the model in tokens; null: the known value of the model.'),
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
      .describe(
        'What happens to a message that arrives during a turn: `steer` adds it to the turn, `queue` keeps it until the turn ends, `interrupt` stops the turn. `/busy` changes it for one chat.',
      ),
    debounceMs: count(0, 0, 'How long a message waits for more before a turn starts, in milliseconds.'),
    maxConcurrentTurns: takes(
      'restart',
      count(64, 1, 'Maximum number of model calls and tool calls that run at the same time, over all chats.'),
    ),
    turnTimeoutMinutes: count(30, 1, 'Time limit for one turn, in minutes; the user is told when it is reached.'),
    toolResultChars: takes(
      'restart',
      count(
        16_000,
        1000,
        'Maximum number of characters of a tool result that the model sees; the whole result is kept, and the model can page through it.',
      ),
    ),
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
