import * as z from 'zod';
import { groupOptions } from '../../core/api-channels.ts';

/** What a Discord channel needs from its configuration. */
export const discordOptions = z.object({
  /** From the developer portal. */
  token: z
    .string({ error: 'expected the bot token from https://discord.com/developers/applications' })
    .transform((token) => token.trim().replace(/^Bot\s+/iu, ''))
    .refine((token) => /^[\w.-]+$/u.test(token), {
      error: 'expected a bot token like MTA4….Gx….abc from https://discord.com/developers/applications',
    }),
  /** Another API server; null for Discord's own. */
  apiBase: z
    .url({ protocol: /^https?$/u, error: 'expected an http(s) address' })
    .transform((base) => base.replace(/(?:\/v\d+)?\/*$/u, ''))
    .nullish(),
  /** User ids of those who may write; `*` is everybody. @default no one */
  allowFrom: z.array(z.coerce.string()).default([]),
  /** User ids of the owners. */
  owners: z.array(z.coerce.string()).default([]),
  groups: groupOptions,
});

export type DiscordOptions = z.output<typeof discordOptions>;
