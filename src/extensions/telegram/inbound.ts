import {
  textOfPress,
  type PairedRole,
  type ReplyReference,
  type Sender,
  decideAccess,
  type AccessSettings,
  actOf,
  quotedFiles,
  writtenBy,
  type SenderAccess,
  startsWithName,
  nothing,
  type InboundResult,
  withAddress,
} from '../../core/api-channels.ts';
import { cut, oneLine } from '../../core/api.ts';
import { attachmentsOf, namedAttachments } from './attachments.ts';
import { readRich } from './rich-text.ts';
import type {
  BotAccount,
  TelegramCallback,
  TelegramContent,
  TelegramEntity,
  TelegramMessage,
  TelegramOrigin,
  TelegramUpdate,
  TelegramUser,
} from './update.ts';

const REPLY_TEXT_LIMIT = 1_000;
/** A text this long was probably cut at the limit of 4096 units. */
const SPLIT_LENGTH = 3_890;

export interface ReadingContext {
  readonly channel: string;
  readonly me: BotAccount;
  readonly access: AccessSettings;
  readonly pairedRole: (senderId: string, chatId?: string) => PairedRole | undefined;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** Reads an update as a message for the assistant. Pure. `nothing` for updates without a message of a person. */
export function readUpdate(update: TelegramUpdate, context: ReadingContext): InboundResult {
  if (update.callback_query !== undefined) return readPress(update.callback_query, context);
  const message = update.message ?? update.edited_message;
  const from = message?.from;
  if (message === undefined || from === undefined || message.chat.type === 'channel') return nothing;
  const { me } = context;
  const by = senderAccess(from, message, context);
  const isEdit = update.message === undefined;
  const isMeant = by.chatType === 'direct' || isAddressed(message, me);
  return writtenBy(by, { messageId: String(message.message_id), isMeant, isEdit }, () => {
    const { media, words } = attachmentsOf(message);
    const text = textOf(message, words, me);
    // A service message: a person joined, the title changed, a live location moved.
    if (text === '' && media.length === 0) return null;
    if (isEdit && message.text === undefined && message.caption === undefined) return null;
    const replyTo = replyOf(message, me);
    return {
      edit: isEdit ? `${message.edit_date ?? message.date}:${update.update_id}` : undefined,
      text,
      media: [...media, ...quotedFiles(attachmentsOf(message.reply_to_message ?? {}).media, replyTo)],
      untrusted: isByOthers(message, me),
      ...(replyTo === undefined ? {} : { replyTo }),
      metadata: { sentAt: message.date * 1_000, ...burstOf(message) },
    };
  });
}

/** Reads the press of a button under one of the bot's messages, as a message from the person who pressed it. */
function readPress({ id, from, data, message }: TelegramCallback, context: ReadingContext): InboundResult {
  if (message === undefined || data === undefined || from.is_bot) return nothing;
  const by = senderAccess(from, message, context);
  const draft = actOf(by, { id, text: textOfPress(data), action: { id: data, value: data } });
  return draft === null ? nothing : { type: 'message', draft };
}

/** The sender, the chat, and the decision whether the sender may write, press or react here. */
export function senderAccess(
  from: TelegramUser,
  message: Pick<TelegramMessage, 'chat' | 'message_thread_id' | 'is_topic_message'>,
  { channel, me, access, pairedRole, now }: ReadingContext,
): SenderAccess {
  const { chat } = message;
  const chatType = chat.type === 'private' ? 'direct' : 'group';
  const chatId = String(chat.id);
  const threadId = threadOf(message);
  const sender = senderOf(from);
  const who = { id: sender.id, isBot: sender.isBot, isSelf: from.id === me.id };
  return {
    channel,
    account: String(me.id),
    chatId,
    ...(threadId === undefined ? {} : { threadId }),
    chatType,
    sender,
    receivedAt: now,
    decision: decideAccess({ via: 'channel', settings: access, pairedRole, chatType, chatId, sender: who }),
  };
}

function isForward(message: TelegramContent): boolean {
  return message.forward_origin !== undefined || message.forward_date !== undefined;
}

/** Whether others wrote a message that a person sent: a forward, what an inline bot made, a contact card, a place, a poll, a checklist. */
function isByOthers(message: TelegramContent, me: BotAccount): boolean {
  const { via_bot: inlineBot, contact, venue, poll, checklist, checklist_tasks_done: done } = message;
  const cards = [contact, venue, poll, checklist, done, message.checklist_tasks_added];
  const isShared = cards.some((card) => card !== undefined);
  return isForward(message) || isShared || (inlineBot !== undefined && inlineBot.id !== me.id);
}

/**
 * Telegram apps split a long paste, an album and several forwards into single messages; `burst` marks one that may be
 * such a piece.
 */
function burstOf(message: TelegramMessage): {
  readonly burst?: 'album' | 'forward' | 'split';
  readonly album?: string;
} {
  if (message.media_group_id !== undefined) return { burst: 'album', album: message.media_group_id };
  if (isForward(message)) return { burst: 'forward' };
  return (message.text?.length ?? 0) >= SPLIT_LENGTH ? { burst: 'split' } : {};
}

function senderOf(from: TelegramUser): Sender {
  const name = [from.first_name, from.last_name].filter(Boolean).join(' ');
  return {
    id: String(from.id),
    isBot: from.is_bot,
    ...(name === '' ? {} : { name }),
    ...(from.username === undefined ? {} : { username: from.username }),
  };
}

function threadOf(message: Pick<TelegramContent, 'message_thread_id' | 'is_topic_message'>): string | undefined {
  if (message.is_topic_message !== true || message.message_thread_id === undefined) return undefined;
  return String(message.message_thread_id);
}

/**
 * Whether a group message addresses the bot: by @username, by a command for this bot, by a mention of the account, by
 * the bot's name at the beginning, or as a reply to the bot.
 */
function isAddressed(message: TelegramMessage, me: BotAccount): boolean {
  const answered = message.reply_to_message;
  // Each message of a topic "replies" to the topic's first one.
  if (answered?.from?.id === me.id && answered.message_id !== message.message_thread_id) return true;
  const [text, entities] = textAndEntities(message);
  if (startsWithName(text, me.first_name)) return true;
  const rich = readRich(message.rich_message?.blocks ?? []).text.toLowerCase();
  if (new RegExp(`@${me.username.toLowerCase()}(?!\\w)`, 'u').test(rich)) return true;
  return entities.some((entity) => {
    if (entity.type === 'text_mention') return entity.user?.id === me.id;
    const marked = text.slice(entity.offset, entity.offset + entity.length).toLowerCase();
    const name = `@${me.username.toLowerCase()}`;
    if (entity.type === 'mention') return marked === name;
    return entity.type === 'bot_command' && marked.endsWith(name);
  });
}

function textAndEntities(message: TelegramContent): readonly [string, readonly TelegramEntity[]] {
  if (message.text !== undefined) return [message.text, message.entities ?? []];
  return [message.caption ?? '', message.caption_entities ?? []];
}

function textOf(message: TelegramContent, words: readonly string[], me?: BotAccount): string {
  const said = withAddresses(...textAndEntities(message));
  const text = me === undefined ? said : withoutBotSuffix(said, me);
  return [text, ...words, forwardWords(message)].filter((part) => part !== '').join('\n');
}

/** Whose message was forwarded; empty where it was not, or nobody knows. */
function forwardWords({ forward_origin: origin }: TelegramContent): string {
  const name = origin === undefined ? undefined : nameOf(origin);
  return name === undefined ? '' : `[forwarded from ${oneLine(name, 60)}]`;
}

function nameOf(origin: TelegramOrigin): string | undefined {
  const { sender_user: user, sender_user_name: hidden, sender_chat: group, chat: channel } = origin;
  return user === undefined ? (hidden ?? group?.title ?? channel?.title) : senderOf(user).name;
}

/** A text with the addresses that stand behind its words. */
function withAddresses(text: string, entities: readonly TelegramEntity[]): string {
  const links = entities.filter(({ type }) => type === 'text_link').toSorted((a, b) => b.offset - a.offset);
  return links.reduce((whole, { offset, length, url = '' }) => {
    const end = offset + length;
    const label = whole.slice(offset, end);
    return url === '' || label === '' ? whole : whole.slice(0, offset) + withAddress(label, url) + whole.slice(end);
  }, text);
}

/** Turns `/status@our_bot now` into `/status now`. */
function withoutBotSuffix(text: string, me: BotAccount): string {
  const match = /^\/\w+(?<suffix>@\w+)/u.exec(text);
  const suffix = match?.groups?.['suffix'];
  if (match === null || suffix?.toLowerCase() !== `@${me.username.toLowerCase()}`) return text;
  return text.slice(0, match[0].length - suffix.length) + text.slice(match[0].length);
}

function replyOf(message: TelegramMessage, me: BotAccount): ReplyReference | undefined {
  const answered = message.reply_to_message;
  const { quote } = message;
  const marked = quote === undefined ? undefined : withAddresses(quote.text, quote.entities ?? []);
  if (answered === undefined) return externalReply(message.external_reply, marked);
  if (answered.message_id === message.message_thread_id) return undefined;
  const senderName =
    answered.from === undefined ? undefined : (senderOf(answered.from).name ?? String(answered.from.id));
  const text = marked ?? textOf(answered, namedAttachments(answered));
  return {
    externalId: `m:${answered.message_id}`,
    ...(senderName === undefined ? {} : { senderName }),
    ...(text === '' ? {} : { text: cut(text, REPLY_TEXT_LIMIT) }),
    author: authorOf(answered, message, me),
    sentAt: answered.date * 1_000,
  };
}

/** A reply to a message of another chat, of which Telegram sends the marked part and attachments. */
function externalReply(
  answered: TelegramMessage['external_reply'],
  marked: string | undefined,
): ReplyReference | undefined {
  if (answered === undefined) return undefined;
  const senderName = nameOf(answered.origin);
  const text = [marked ?? '', ...namedAttachments(answered)].filter((part) => part !== '').join('\n');
  return {
    externalId: `x:${answered.message_id ?? ''}`,
    ...(senderName === undefined ? {} : { senderName }),
    ...(text === '' ? {} : { text: cut(text, REPLY_TEXT_LIMIT) }),
    author: 'other',
  };
}

/** Who wrote the message that is replied to. What others wrote counts as `other`, no matter who sent it. */
function authorOf(
  answered: TelegramContent,
  message: TelegramMessage,
  me: BotAccount,
): NonNullable<ReplyReference['author']> {
  if (answered.from === undefined || isByOthers(answered, me)) return 'other';
  if (answered.from.id === me.id) return 'assistant';
  return answered.from.id === message.from?.id ? 'sender' : 'other';
}
