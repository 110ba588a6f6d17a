import * as z from 'zod';

const amount = (usual: number): z.ZodDefault<z.ZodNumber> => z.number().min(0).default(usual);

/** How a channel behaves in groups; the same for every platform. */
export const groupOptions = z
  .object({
    /** When it answers: when it is meant, whenever it has something to say, never. */
    policy: z.enum(['mention', 'open', 'off']).default('mention'),
    /** Ids of the groups it takes part in; empty is every group. With the policy `open` members of those are guests. */
    allow: z.array(z.coerce.string()).default([]),
    /** Ids of other bots that it listens to. */
    allowBots: z.array(z.coerce.string()).default([]),
    /** Most turns an hour that other bots may start. */
    botTurnsPerHour: amount(10),
    /** So long after an answer its sender may go on without a mention. */
    followUpSeconds: amount(60),
    /** How old the talk before a mention may be to be read along. */
    contextMinutes: amount(60),
  })
  .prefault({});

export type GroupOptions = z.output<typeof groupOptions>;
