import * as z from 'zod';
import { fullName } from '../../assistant/models.ts';
import { listOf, operation } from './operation.ts';

/** Whether everything works, and what waits. Times are milliseconds since 1970. */
const healthFacts = z.object({
  startedAt: z.number(),
  channels: listOf(
    z.object({
      name: z.string(),
      state: z.string(),
      detail: z.string().nullable(),
      /** Messages that wait to be sent. */
      queued: z.number(),
    }),
  ),
  queues: z.object({
    runningTurns: z.number(),
    /** Messages that wait for a turn. */
    inbound: z.number(),
    /** Messages that wait to be sent. */
    outbound: z.number(),
    /** Messages that could not be delivered, without those that a person dropped. */
    deadLetters: z.number(),
  }),
  sandbox: z.object({
    /** `off`: no command runs; `missing`: each command asks, or none does in mode `full`. */
    state: z.enum(['available', 'missing', 'off']),
    detail: z.string(),
  }),
  versions: z.record(z.string(), z.string()),
  disk: z.object({
    /** Of the disk that holds the home; null where the system does not tell. */
    freeBytes: z.number().nullable(),
    totalBytes: z.number().nullable(),
    /** `ok`, or why it takes no writes. */
    state: z.string(),
    reason: z.string().nullable(),
  }),
  /** How large each store is and what went last; null before the first sweep. */
  storage: z.string().nullable(),
  /** By the newest turn that each of them answered since the start. */
  providers: listOf(
    z.object({
      name: z.string(),
      state: z.enum(['ok', 'failed', 'unknown']),
      detail: z.string().nullable(),
      at: z.number().nullable(),
    }),
  ),
  /** One sentence each. */
  warnings: listOf(z.string()),
});
export type HealthFacts = z.output<typeof healthFacts>;

export const health = operation({
  name: 'health',
  about:
    'Returns whether channels, disk, sandbox and model providers work, and how many messages wait or could not be delivered.',
  changes: null,
  input: z.object({}),
  output: healthFacts,
  run: (app) => app.health(),
});

const RECENT_MS = 90 * 86_400_000;
const MOST_MODELS = 200;

const modelsInfo = z.object({
  /** `provider/model`, those that may be chosen: of the configuration, and those that were used in the last 90 days. */
  models: listOf(z.string()),
  /** The one that answers in the session. */
  current: z.string(),
  /** The one that was chosen for the session; null: the standard one. */
  chosen: z.string().nullable(),
});
export type ModelsInfo = z.output<typeof modelsInfo>;

export const modelsList = operation({
  name: 'modelsList',
  about: 'Lists the models that may be chosen, and which one answers in a session.',
  changes: null,
  input: z.object({
    session: z.string().max(400).exactOptional().describe('Key of the session; without it, a new one.'),
  }),
  output: modelsInfo,
  run: async ({ config, clock, models, journal }, { session }) => {
    const chosen = session === undefined ? null : journal.settings.model(session);
    const { model, fallbacks } = config.agent;
    const used = journal.usage.grouped('model', clock.now() - RECENT_MS).map(({ name }) => name);
    const refs = [chosen ?? model, model, ...fallbacks, ...Object.keys(config.models), ...used];
    const callable = refs.flatMap((ref) => {
      try {
        return [models.fullName(ref)];
      } catch {
        // Its provider is no longer configured.
        return [];
      }
    });
    return { models: [...new Set(callable)].slice(0, MOST_MODELS), current: fullName(models.resolve(chosen)), chosen };
  },
});
