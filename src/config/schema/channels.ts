import * as z from 'zod';
import { count, flag, httpUrl, ids, text } from './values.ts';

const groups = z
  .object({
    policy: z
      .enum(['mention', 'open', 'off'])
      .default('mention')
      .describe(
        'When the assistant answers in groups: `mention` when it is addressed, `open` whenever it has something to add, `off` never.',
      ),
    allow: ids(
      'Ids of the groups in which the assistant takes part; empty: every group it was added to. With the policy `open`, all members of the groups listed here may write to it, as guests.',
    ),
    followUpSeconds: count(
      60,
      0,
      'For this many seconds after an answer, the person who was answered needs no mention.',
    ),
    debounceMs: count(1000, 0, 'How long a group message waits for more, in milliseconds.'),
    contextMinutes: count(60, 0, 'How far back, in minutes, messages before a mention are read as context.'),
    allowBots: ids('Ids of other bots whose messages in groups are read, as those of guests.'),
    botTurnsPerHour: count(10, 0, 'Maximum number of turns that other bots may start per hour.'),
  })
  .prefault({})
  .describe('Behaviour in group chats.');

const reaction = (state: string) =>
  z
    .union([text(), z.literal(false)], { error: 'expected an emoji such as "👀", or false for none' })
    .nullable()
    .default(null)
    .describe(`Reaction to a message ${state}: an emoji, or false for none; null: the usual one of the platform.`);

const reactions = z
  .object({
    show: z
      .boolean()
      .nullable()
      .default(null)
      .describe('Whether they are shown; null: in Slack, which shows no typing, but not elsewhere.'),
    seen: reaction('that waits'),
    working: reaction('that is worked on'),
    done: reaction('that was answered'),
    failed: reaction('that could not be answered'),
  })
  .prefault({})
  .describe('Reactions on a person’s message that show how far it has come.');

const base = {
  kind: text().optional().describe('`telegram`, `discord`, `slack` or a plugin’s; left out: the entry’s own name.'),
  enabled: flag(true, 'Whether this channel is connected.'),
  allowFrom: ids(
    'Ids of the people who may write to the assistant, in addition to those who were paired. Empty: no one else. `"*"`: everybody, as guests.',
  ),
  owners: ids('Ids of the owners. Empty: the id in `allowFrom` if there is exactly one, otherwise no one.'),
  stream: flag(true, 'Whether an answer is shown while the model writes it.'),
  reactions,
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
