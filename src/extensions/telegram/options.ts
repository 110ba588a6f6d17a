import * as z from 'zod';
import { groupOptions, reactionOptions } from '../../core/api-channels.ts';

/** Settings of a Telegram channel. */
export const telegramOptions = z.object({
  /** Bot token from @BotFather. */
  token: z
    .string({ error: 'expected the bot token that @BotFather gave you' })
    .regex(/^[\w:-]+$/u, { error: 'expected a bot token like 123456789:AAE… from @BotFather' }),
  /** Address of a self-hosted Bot API server. @default Telegram's own */
  apiRoot: z
    .url({ protocol: /^https?$/u, error: 'expected an http(s) address' })
    .transform((root) => root.replace(/\/+$/u, ''))
    .nullish(),
  /** Numeric ids of the users who may write; `*` stands for everybody. @default no one */
  allowFrom: z.array(z.coerce.string()).default([]),
  /** Numeric user ids of the owners. @default no one */
  owners: z.array(z.coerce.string()).default([]),
  reactions: reactionOptions,
  groups: groupOptions,
});

export type TelegramOptions = z.output<typeof telegramOptions>;
