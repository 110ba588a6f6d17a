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
  kind: text().optional().describe('The platform, such as `telegram`, or a plugin’s; left out: the entry’s own name.'),
  enabled: flag(true, 'Whether this channel is connected.'),
  allowFrom: ids(
    'Ids of the people who may write to the assistant, in addition to those who were paired. Empty: no one else. `"*"`: everybody, as guests.',
  ),
  owners: ids('Ids of the owners. Empty: the id in `allowFrom` if there is exactly one, otherwise no one.'),
  stream: flag(true, 'Whether an answer is shown while the model writes it.'),
  reactions,
  groups,
};

/** What a kind of channel has of its own in an entry of `config.channels`. */
export interface ChannelSettingsKind {
  readonly kind: string;
  /** How people call the platform, for the documentation of its keys. */
  readonly title: string;
  /** The keys that only this kind has. */
  readonly keys: Readonly<Record<string, z.ZodType>>;
  /** The keys without which it cannot connect. They are never shown. */
  readonly secrets: readonly string[];
  /** The form of a person's id there, and what it is called. @default every text is one */
  readonly ids?: {
    readonly form: RegExp;
    readonly what: string;
    /** It is the address of the chat with them, too. */ readonly isChat?: true;
  };
  /** The key that names another server, and the usual one. */
  readonly address?: { readonly key: string; readonly usual: string };
  /** The usual variables of its keys; the first enables it without an entry. */
  readonly variables: Readonly<Record<string, string>>;
}

/** A token, for `ChannelSettingsKind.keys`. */
export const channelSecret = (doc: string) => text().nullish().describe(doc);
/** An address of a server, for `ChannelSettingsKind.keys`. */
export const channelServer = (doc: string) => httpUrl().nullish().describe(doc);

const channelName = z.string().regex(/^[\w.-]+$/u, { error: 'expected a name of letters, digits, ".", "-" and "_"' });

/** Chat platforms by name, with the keys of these kinds. */
export function channelsSchema(kinds: readonly ChannelSettingsKind[]) {
  const own: Record<string, z.ZodType> = {};
  for (const key of new Set(kinds.flatMap(({ keys }) => Object.keys(keys)))) {
    const having = kinds.filter(({ keys }) => Object.hasOwn(keys, key));
    const schema = having[0]?.keys[key];
    if (schema === undefined) continue;
    own[key] = schema.clone().describe(`${having.map(({ title }) => title).join(', ')}: ${schema.description ?? ''}`);
  }
  const variables = kinds.map((kind) => kind.secrets.map((key) => `\`${kind.variables[key]}\``).join(' with '));
  return z
    .record(channelName, z.looseObject({ ...base, ...own }).describe('One bot on one platform.'))
    .default({})
    .describe(`Chat platforms by name. ${variables.join(', ')} enable theirs without an entry.`);
}

export type ChannelSettings = z.output<typeof entry>;

const entry = z.looseObject(base);

/** A text that a kind has of its own in an entry, such as an address; null: it is not set. */
export function textIn(settings: Readonly<Record<string, unknown>> | undefined, key: string): string | null {
  const value = settings?.[key];
  return typeof value === 'string' ? value : null;
}

/** The keys that an entry of this kind knows. */
export function keysOfKind({ keys }: ChannelSettingsKind): readonly string[] {
  return [...Object.keys(base), ...Object.keys(keys)];
}
