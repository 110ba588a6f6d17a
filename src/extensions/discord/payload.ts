import * as z from 'zod';

/** The parts of Discord's payloads that are read here (https://discord.com/developers/docs/resources/message). */

const id = z.string().regex(/^\d{1,20}$/u);

const user = z.object({
  id,
  username: z.string().default(''),
  global_name: z.string().nullish(),
  bot: z.boolean().optional(),
});

const attachment = z.object({
  id: z.string(),
  filename: z.string().default(''),
  /** Bytes. */
  size: z.number().optional(),
  url: z.string(),
  content_type: z.string().nullish(),
});

/** What is of an unknown shape is left out; the message it came with is not. */
function odd<Schema extends z.ZodType>(schema: Schema): z.ZodCatch<z.ZodOptional<Schema>> {
  return schema.optional().catch(undefined);
}

const content = z.object({
  content: z.string().default(''),
  attachments: odd(z.array(attachment)),
  embeds: odd(z.array(z.unknown())),
  components: odd(z.array(z.unknown())),
  sticker_items: odd(z.array(z.object({ name: z.string() }))),
  poll: odd(
    z.object({
      question: z.object({ text: z.string().default('') }),
      answers: z.array(z.object({ poll_media: z.object({ text: z.string().default('') }) })).default([]),
    }),
  ),
});

const written = content.extend({
  id,
  author: user,
  webhook_id: z.string().optional(),
  /** The originals of a forward. */
  message_snapshots: odd(z.array(z.object({ message: content }))),
});

const message = written.extend({
  channel_id: id,
  guild_id: id.optional(),
  type: z.number().default(0),
  timestamp: z.string().optional(),
  edited_timestamp: z.string().nullish(),
  nonce: z.union([z.string(), z.number()]).optional(),
  member: z.object({ nick: z.string().nullish() }).optional(),
  mentions: z.array(user).default([]),
  mention_roles: z.array(id).default([]),
  message_reference: odd(z.object({ type: z.number().optional(), message_id: id.optional() })),
  referenced_message: odd(written.nullable()),
});

/** Any message has an id and a place; one that is not understood beyond them is skipped. */
const messageHead = z.object({
  id,
  channel_id: id,
  guild_id: id.optional(),
  edited_timestamp: z.unknown().optional(),
});

/** A page of a channel's history. */
const history = z.array(z.looseObject({ id }));

/** A channel or a thread. */
const place = z.object({
  id,
  type: z.number(),
  name: z.string().nullish(),
  parent_id: id.nullish(),
  guild_id: id.nullish(),
  last_message_id: id.nullish(),
  /** Of a thread, whose own id may be that of an old message. */
  thread_metadata: odd(z.object({ create_timestamp: z.iso.datetime({ offset: true }).nullish() }).nullish()),
});

const role = z.object({
  id,
  name: z.string().default(''),
  tags: z.object({ bot_id: id.optional() }).optional(),
});

const guild = z.object({
  id,
  unavailable: z.boolean().optional(),
  channels: odd(z.array(place)),
  threads: odd(z.array(place)),
  roles: odd(z.array(role)),
  members: odd(
    z.array(z.object({ user: user.optional(), nick: z.string().nullish(), roles: z.array(id).default([]) })),
  ),
});

const member = z.object({ guild_id: id, user, nick: z.string().nullish(), roles: z.array(id).default([]) });

const ready = z.object({
  user,
  application: z.object({ id }),
  guilds: z.array(z.object({ id })).default([]),
});

/** https://discord.com/developers/docs/interactions/receiving-and-responding */
const interaction = z.object({
  id,
  token: z.string(),
  /** 2: a command, 3: a button. */
  type: z.number(),
  guild_id: id.optional(),
  channel_id: id.optional(),
  channel: odd(place),
  user: user.optional(),
  member: z.object({ user, nick: z.string().nullish() }).optional(),
  data: odd(
    z.object({
      name: z.string().optional(),
      /** Of a command: 3, one that was called on a message. */
      type: z.number().optional(),
      target_id: id.optional(),
      custom_id: z.string().optional(),
      options: odd(z.array(z.object({ name: z.string(), value: z.unknown() }))),
    }),
  ),
});

/** Somebody set a reaction or took it back. An emoji of a server has an id. */
const reaction = z.object({
  user_id: id,
  channel_id: id,
  message_id: id,
  guild_id: id.optional(),
  emoji: z.object({ id: id.nullish(), name: z.string().nullish() }),
  member: odd(z.object({ user: user.optional(), nick: z.string().nullish() })),
});

const sentMessage = z.object({ id, content: z.string().optional() });

export const payloads = {
  message,
  messageHead,
  authored: z.object({ author: z.object({ id }) }),
  history,
  place,
  guild,
  member,
  ready,
  interaction,
  reaction,
  sentMessage,
  threadList: z.object({ guild_id: id, threads: z.array(place) }),
  refreshed: z.object({ refreshed_urls: z.array(z.object({ refreshed: z.string() })) }),
} as const;

export type DiscordMessage = z.output<typeof message>;
export type DiscordWritten = z.output<typeof written>;
export type DiscordContent = z.output<typeof content>;
export type DiscordUser = z.output<typeof user>;
export type DiscordInteraction = z.output<typeof interaction>;
export type DiscordReaction = z.output<typeof reaction>;
export type DiscordPlace = z.output<typeof place>;
export type DiscordGuild = z.output<typeof guild>;
