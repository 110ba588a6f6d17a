import * as z from 'zod';
import { count, flag, httpUrl, ids, text } from './values.ts';

const groups = z
  .object({
    policy: z
      .enum(['mention', 'open', 'off'])
      .default('mention')
      .describe('When it answers in groups: when mentioned, always when it has something to say, never.'),
    allow: ids(
      'Ids of the groups it takes part in; empty: every group it was added to. With the policy `open` the members of those named here may speak, as guests.',
    ),
    followUpSeconds: count(60, 0, 'So long after an answer its sender may go on without a mention.'),
    debounceMs: count(1000, 0, 'How long a group message waits for more, in milliseconds.'),
    contextMinutes: count(60, 0, 'How far back, in minutes, messages before a mention are read as context.'),
    allowBots: ids('Ids of other bots it listens to in groups, as guests.'),
    botTurnsPerHour: count(10, 0, 'Most turns an hour that other bots may start.'),
  })
  .prefault({})
  .describe('Behaviour in group chats.');

const base = {
  kind: text().optional().describe('`telegram`, `discord`, `slack` or a plugin’s; left out: the entry’s own name.'),
  enabled: flag(true, 'Whether it is connected.'),
  allowFrom: ids(
    'Ids of the people it listens to, beside those who were paired: none when empty, everybody (as guests) with `"*"`.',
  ),
  owners: ids('Ids of its owners; empty: the only id in `allowFrom`, and no one when there are several.'),
  stream: flag(true, 'Whether an answer is shown while it is written.'),
  groups,
};

const secret = (doc: string) => text().nullish().describe(doc);
const server = (doc: string) => httpUrl().nullish().describe(doc);

const platforms = {
  telegram: {
    token: secret('Telegram, Discord: the bot’s token.'),
    apiRoot: server('Telegram: another Bot API server; null: Telegram’s own.'),
  },
  discord: {
    token: secret('Telegram, Discord: the bot’s token.'),
    apiBase: server('Discord: another API server; null: Discord’s own.'),
  },
  slack: {
    botToken: secret('Slack: the bot token (`xoxb-…`).'),
    appToken: secret('Slack: the app token (`xapp-…`).'),
    apiUrl: server('Slack: another API server; null: Slack’s own.'),
  },
} as const;

const platformKeys: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  Object.entries(platforms).map(([kind, keys]) => [kind, Object.keys(keys)]),
);

const channel = z
  .looseObject({ ...base, ...platforms.telegram, ...platforms.discord, ...platforms.slack })
  .describe('One bot on one platform.');

export const channelsSchema = z
  .record(z.string().regex(/^[\w.-]+$/u, { error: 'expected a name of letters, digits, ".", "-" and "_"' }), channel)
  .default({})
  .describe(
    'Chat platforms by name. `TELEGRAM_BOT_TOKEN`, `DISCORD_BOT_TOKEN`, `SLACK_BOT_TOKEN` with `SLACK_APP_TOKEN` enable theirs without an entry.',
  );

export type ChannelSettings = z.output<typeof channel>;

/** The keys that a channel of this kind knows; undefined when the kind is not one of ours. */
export function channelKeys(kind: string): readonly string[] | undefined {
  const own = Object.hasOwn(platformKeys, kind) ? platformKeys[kind] : undefined;
  return own === undefined ? undefined : [...Object.keys(base), ...own];
}

/** The secrets without which a channel of this kind cannot connect. */
export function channelSecrets(kind: string): readonly string[] {
  return channelKeys(kind)?.filter((key) => key === 'token' || key.endsWith('Token')) ?? [];
}
