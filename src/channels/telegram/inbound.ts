import { saidByPress } from '../../bus/buttons.ts';
import type { InboundDraft, PairedRole, ReplyReference, Sender } from '../../bus/messages.ts';
import { decideAccess, type AccessDecision, type AccessSettings } from '../../security/access/access.ts';
import { cut } from '../../util/text.ts';
import { startsWithName, nothing, type InboundResult } from '../inbound/inbound-result.ts';
import { attachmentsOf, namedAttachments } from './attachments.ts';
import type {
  BotAccount,
  TelegramCallback,
  TelegramContent,
  TelegramEntity,
  TelegramMessage,
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
  readonly pairedRole: (senderId: string) => PairedRole | undefined;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** An update as a message for the assistant; who may not write is told apart before anything else is looked at. */
export function readUpdate(update: TelegramUpdate, context: ReadingContext): InboundResult {
  if (update.callback_query !== undefined) return readPress(update.callback_query, context);
  const message = update.message ?? update.edited_message;
  const from = message?.from;
  if (message === undefined || from === undefined || message.chat.type === 'channel') return nothing;
  const { channel, me, now } = context;
  const { chatType, chatId, sender, decision } = speakerOf(from, message.chat, context);
  if (!decision.allowed && decision.stranger === null) return nothing;
  const isMeant = chatType === 'direct' || isAddressed(message, me);
  if (!isMeant && (!decision.allowed || update.message === undefined)) return nothing;
  if (!decision.allowed) return { type: 'stranger', sender, chatId, where: chatType };
  const { media, words } = attachmentsOf(message);
  const text = textOf(message, words, me);
  const edited = update.message === undefined;
  // Somebody joined, a title changed, a place moves on.
  if (text === '' && media.length === 0) return nothing;
  if (edited && message.text === undefined && message.caption === undefined) return nothing;
  const threadId = threadOf(message);
  const replyTo = replyOf(message, me);
  return {
    type: isMeant ? 'message' : 'overheard',
    draft: {
      channel,
      account: String(me.id),
      chatId,
      ...(threadId === undefined ? {} : { threadId }),
      chatType,
      sender,
      role: decision.role,
      text: edited ? `[edited an earlier message, which now says:]\n${text}` : text,
      media: edited ? [] : media,
      ...(replyTo === undefined ? {} : { replyTo }),
      mentioned: isMeant,
      context: [],
      receivedAt: now,
      externalId: edited
        ? `e:${message.message_id}:${message.edit_date ?? message.date}:${update.update_id}`
        : `m:${message.message_id}`,
      origin: 'user',
      untrusted: isForward(message),
      ...(edited ? { edits: { externalId: `m:${message.message_id}`, text } } : {}),
      metadata: { messageId: String(message.message_id), sentAt: message.date * 1_000, ...burstOf(message) },
    },
  };
}

/** A button under one of the bot's own messages: whoever may press it, it says what they mean. */
function readPress({ id, from, data, message }: TelegramCallback, context: ReadingContext): InboundResult {
  if (message === undefined || data === undefined || from.is_bot) return nothing;
  const { channel, me, now } = context;
  const { chatType, chatId, sender, decision } = speakerOf(from, message.chat, context);
  if (!decision.allowed) return nothing;
  const threadId = threadOf(message);
  return {
    type: 'message',
    draft: {
      channel,
      account: String(me.id),
      chatId,
      ...(threadId === undefined ? {} : { threadId }),
      chatType,
      sender,
      role: decision.role,
      text: saidByPress(data),
      media: [],
      mentioned: true,
      context: [],
      receivedAt: now,
      externalId: `b:${id}`,
      origin: 'user',
      untrusted: false,
      action: { id: data, value: data },
      metadata: {},
    },
  };
}

/** Who writes or presses, where, and whether they may. */
function speakerOf(
  from: TelegramUser,
  chat: TelegramMessage['chat'],
  { me, access, pairedRole }: ReadingContext,
): Pick<InboundDraft, 'chatType' | 'chatId' | 'sender'> & { readonly decision: AccessDecision } {
  const chatType = chat.type === 'private' ? 'direct' : 'group';
  const chatId = String(chat.id);
  const sender = senderOf(from);
  const who = { id: sender.id, isBot: sender.isBot, isSelf: from.id === me.id };
  const decision = decideAccess({ via: 'channel', settings: access, pairedRole, chatType, chatId, sender: who });
  return { chatType, chatId, sender, decision };
}

function isForward(message: TelegramContent): boolean {
  return message.forward_origin !== undefined || message.forward_date !== undefined;
}

/** Apps cut a long paste at the limit and send the items of an album and several forwards as messages of their own. */
function burstOf(message: TelegramMessage): { readonly burst?: 'album' | 'forward' | 'split' } {
  if (message.media_group_id !== undefined) return { burst: 'album' };
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
 * In a group: by @username, by a command for this bot, by a mention of the account, by its name at the beginning, or as
 * a reply to the bot.
 */
function isAddressed(message: TelegramMessage, me: BotAccount): boolean {
  const answered = message.reply_to_message;
  // Each message of a topic "replies" to the topic's first one.
  if (answered?.from?.id === me.id && answered.message_id !== message.message_thread_id) return true;
  const [text, entities] = textAndEntities(message);
  if (startsWithName(text, me.first_name)) return true;
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
  const [said] = textAndEntities(message);
  const text = me === undefined ? said : withoutBotSuffix(said, me);
  return [text, ...words].filter((part) => part !== '').join('\n');
}

/** `/status@our_bot now` is `/status now`. */
function withoutBotSuffix(text: string, me: BotAccount): string {
  const match = /^\/\w+(?<suffix>@\w+)/u.exec(text);
  const suffix = match?.groups?.['suffix'];
  if (match === null || suffix?.toLowerCase() !== `@${me.username.toLowerCase()}`) return text;
  return text.slice(0, match[0].length - suffix.length) + text.slice(match[0].length);
}

function replyOf(message: TelegramMessage, me: BotAccount): ReplyReference | undefined {
  const answered = message.reply_to_message;
  if (answered === undefined || answered.message_id === message.message_thread_id) return undefined;
  const senderName =
    answered.from === undefined ? undefined : (senderOf(answered.from).name ?? String(answered.from.id));
  const text = message.quote?.text ?? textOf(answered, namedAttachments(answered));
  return {
    externalId: `m:${answered.message_id}`,
    ...(senderName === undefined ? {} : { senderName }),
    ...(text === '' ? {} : { text: cut(text, REPLY_TEXT_LIMIT) }),
    author: authorOf(answered, message, me),
  };
}

/** A forward is nobody's own words. */
function authorOf(
  answered: TelegramContent,
  message: TelegramMessage,
  me: BotAccount,
): NonNullable<ReplyReference['author']> {
  if (answered.from === undefined || isForward(answered)) return 'other';
  if (answered.from.id === me.id) return 'assistant';
  return answered.from.id === message.from?.id ? 'sender' : 'other';
}
