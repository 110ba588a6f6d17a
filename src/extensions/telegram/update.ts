import * as z from 'zod';

/** The parts of a Bot API update that are read here (https://core.telegram.org/bots/api#update). */

/** An attachment of an unknown shape is left out; the message it came with is not. */
function odd<Schema extends z.ZodType>(schema: Schema): z.ZodCatch<z.ZodOptional<Schema>> {
  return schema.optional().catch(undefined);
}

const user = z.object({
  id: z.number(),
  is_bot: z.boolean(),
  first_name: z.string().optional(),
  last_name: z.string().optional(),
  username: z.string().optional(),
});

const entity = z.object({
  type: z.string(),
  /** UTF-16 units. */
  offset: z.number(),
  length: z.number(),
  user: user.optional(),
  /** Of a `text_link`. */
  url: odd(z.string()),
});

const present = z.unknown();

/** A file at Telegram. */
const file = z.object({
  file_id: z.string(),
  /** Bytes. */
  file_size: z.number().optional(),
  file_name: z.string().optional(),
  mime_type: z.string().optional(),
  /** Seconds. */
  duration: z.number().optional(),
});

const checklist = z.object({
  title: z.string(),
  tasks: z.array(z.object({ id: z.number(), text: z.string(), completion_date: z.number().optional() })),
});
const ids = odd(z.array(z.number()));

/** Who wrote a message of another chat, or one that was forwarded: one of these names them. */
const origin = z.object({
  sender_user: odd(user),
  sender_user_name: odd(z.string()),
  sender_chat: odd(z.object({ title: odd(z.string()) })),
  chat: odd(z.object({ title: odd(z.string()) })),
});

/** What a message shows; keys of other kinds stay, see `unreadKind`. */
const content = z.looseObject({
  message_id: z.number(),
  /** Seconds since 1970. */
  date: z.number(),
  from: user.optional(),
  chat: z.object({ id: z.number(), type: z.string(), title: z.string().optional() }),
  media_group_id: z.string().optional(),
  message_thread_id: z.number().optional(),
  is_topic_message: z.boolean().optional(),
  text: z.string().optional(),
  entities: z.array(entity).optional(),
  caption: z.string().optional(),
  caption_entities: z.array(entity).optional(),
  /** The inline bot that made its text. */
  via_bot: odd(z.object({ id: z.number() })),
  forward_origin: odd(origin),
  forward_date: present.optional(),
  edit_date: z.number().optional(),
  /** The same picture in several sizes, the largest last. */
  photo: odd(z.array(file)),
  document: odd(file),
  voice: odd(file),
  audio: odd(file),
  video: odd(file),
  video_note: odd(file),
  animation: odd(file),
  live_photo: odd(file),
  rich_message: odd(z.object({ blocks: z.array(z.unknown()) })),
  checklist: odd(checklist),
  checklist_tasks_added: odd(
    z.object({ checklist_message: odd(z.object({ checklist: odd(checklist) })), tasks: checklist.shape.tasks }),
  ),
  checklist_tasks_done: odd(
    z.object({
      checklist_message: odd(z.object({ checklist: odd(checklist) })),
      marked_as_done_task_ids: ids,
      marked_as_not_done_task_ids: ids,
    }),
  ),
  reply_markup: odd(
    z.object({ inline_keyboard: z.array(z.array(z.object({ text: z.string(), url: z.string().optional() }))) }),
  ),
  sticker: odd(z.object({ emoji: z.string().optional() })),
  location: odd(z.object({ latitude: z.number(), longitude: z.number() })),
  venue: odd(z.object({ title: z.string(), address: z.string() })),
  contact: odd(z.object({ first_name: z.string(), last_name: z.string().optional(), phone_number: z.string() })),
  poll: odd(
    z.object({
      question: z.string(),
      options: z.array(z.object({ text: z.string(), voter_count: odd(z.number()) })),
      total_voter_count: odd(z.number()),
      is_closed: odd(z.boolean()),
    }),
  ),
  dice: odd(z.object({ emoji: z.string(), value: z.number() })),
});

const message = content.extend({
  reply_to_message: content.optional(),
  /** The group has become a supergroup with this id; the first message there has the id of before. */
  migrate_to_chat_id: odd(z.number()),
  migrate_from_chat_id: odd(z.number()),
  /** The answered message, if it is of another chat. */
  external_reply: odd(content.partial().extend({ origin })),
  /** The part of the answered message that was marked. */
  quote: z.object({ text: z.string(), entities: odd(z.array(entity)) }).optional(),
});

/** Any update has an id; one whose message is not understood is skipped, not repeated for ever. */
export const updateHead = z.object({ update_id: z.number().int() });

/** A pressed button; the message it stood under may be too old to be shown. */
const callback = z.object({
  id: z.string(),
  from: user,
  data: z.string().optional(),
  message: content.pick({ message_id: true, chat: true, message_thread_id: true, is_topic_message: true }).optional(),
});

/** A person changed their reactions on a message. An emoji of their own has no `emoji`. */
const reaction = z.object({
  chat: content.shape.chat,
  message_id: z.number(),
  user: user.optional(),
  /** Seconds since 1970. */
  date: z.number(),
  old_reaction: z.array(z.object({ emoji: z.string().optional() })),
  new_reaction: z.array(z.object({ emoji: z.string().optional() })),
});

export const updateBody = updateHead.extend({
  message: message.optional(),
  edited_message: message.optional(),
  callback_query: callback.optional(),
  message_reaction: odd(reaction),
});

export type TelegramUpdate = z.output<typeof updateBody>;
export type TelegramMessage = z.output<typeof message>;
export type TelegramCallback = z.output<typeof callback>;
export type TelegramReaction = z.output<typeof reaction>;
/** One of these names who wrote it. */
export type TelegramOrigin = z.output<typeof origin>;
export type TelegramContent = z.output<typeof content>;
/** What `attachmentsOf` reads. */
export type TelegramShown = { readonly [Key in keyof TelegramContent]?: TelegramContent[Key] | undefined };
/** The file of a rich message's block. */
export const richFile = content
  .pick({ photo: true, document: true, voice: true, audio: true, video: true, animation: true })
  .partial();
export type TelegramFile = z.output<typeof file>;
export type TelegramEntity = z.output<typeof entity>;
export type TelegramUser = z.output<typeof user>;

/** What `getMe` says about the bot itself. */
export const botAccount = z.object({
  id: z.number(),
  username: z.string().default(''),
  first_name: z.string().default(''),
  can_read_all_group_messages: z.boolean().default(false),
});

export type BotAccount = z.output<typeof botAccount>;

const placed = z
  .object({ chat: z.object({ id: z.number() }) })
  .optional()
  .catch(undefined);
const whereabouts = z.object({
  message: placed,
  edited_message: placed,
  callback_query: z.object({ message: placed }).optional().catch(undefined),
});

/** The id of an update's chat, also where nothing else of it is understood; undefined: it names none. */
export function chatOf(update: unknown): string | undefined {
  const { message, edited_message: edited, callback_query: press } = whereabouts.safeParse(update).data ?? {};
  const chat = (message ?? edited ?? press?.message)?.chat;
  return chat === undefined ? undefined : String(chat.id);
}
