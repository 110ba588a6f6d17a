import * as z from 'zod';
import { groupOptions } from '../inbound/group-talk.ts';

/** What a Telegram channel needs from its configuration. */
export const telegramOptions = z.object({
  /** From @BotFather. */
  token: z
    .string({ error: 'expected the bot token that @BotFather gave you' })
    .regex(/^[\w:-]+$/u, { error: 'expected a bot token like 123456789:AAE… from @BotFather' }),
  /** Another Bot API server, e.g. a self-hosted one; null for Telegram's own. */
  apiRoot: z
    .url({ protocol: /^https?$/u, error: 'expected an http(s) address' })
    .transform((root) => root.replace(/\/+$/u, ''))
    .nullish(),
  /** Numeric user ids of those who may write; `*` is everybody. @default nobody */
  allowFrom: z.array(z.coerce.string()).default([]),
  /** Numeric user ids of the owners. */
  owners: z.array(z.coerce.string()).default([]),
  groups: groupOptions,
});

export type TelegramOptions = z.output<typeof telegramOptions>;
