import {
  type AccessSettings,
  decideAccess,
  ON_MESSAGE,
  type PairedRole,
  type ReplyReference,
  type Sender,
  textOfPress,
  actOf,
  type InboundResult,
  nothing,
  quotedFiles,
  type SenderAccess,
  startsWithName,
  UNREAD,
  writtenBy,
} from '../../core/api-channels.ts';
import { cut } from '../../core/api.ts';
import { timeOf } from './snowflake.ts';
import { attachmentsOf, namedAttachments } from './attachments.ts';
import type { DiscordContent, DiscordInteraction, DiscordMessage, DiscordUser, DiscordWritten } from './payload.ts';
import type { ChatPlace, ChannelCache } from './channel-cache.ts';
import { nameOf, withNames } from './mentions.ts';

const REPLY_TEXT_LIMIT = 1_000;
/** Types of messages that a person wrote: default, reply, and what a bot answers to a command. Other types are system messages (joined, pinned, …). */
const WRITTEN: ReadonlySet<number> = new Set([0, 19, 20, 23]);
const FORWARD = 1;
const COMMAND = 2;
const BUTTON = 3;
const ON_A_MESSAGE = 3;

export interface ReadingContext {
  readonly channel: string;
  readonly me: DiscordUser;
  readonly channels: ChannelCache;
  readonly access: AccessSettings;
  readonly pairedRole: (senderId: string, chatId?: string) => PairedRole | undefined;
}

export interface Arrival {
  readonly place: ChatPlace;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly isEdit: boolean;
}

/** Reads a message. The sender's rights are decided first; nothing more is read of a message that they do not allow. */
export function readMessage(message: DiscordMessage, arrival: Arrival, context: ReadingContext): InboundResult {
  const { isEdit, place } = arrival;
  if (!WRITTEN.has(message.type)) return nothing;
  const isBot = message.author.bot === true || message.webhook_id !== undefined;
  const who = { user: message.author, nick: message.member?.nick, isBot };
  const by = senderAccess(who, arrival, context);
  const isMeant = by.chatType === 'direct' || isAddressed(message, place, context);
  return writtenBy(by, { messageId: message.id, isMeant, isEdit }, () => {
    const shown = shownIn(message);
    const isForward = shown !== message || message.message_reference?.type === FORWARD;
    const { media, words, shared } = attachmentsOf(shown);
    const said = wordsOf(shown, message.mentions, arrival, context);
    const isEmpty = [said, ...words, ...media, ...shared].every((part) => part === '');
    if (isEmpty && (isEdit || !isMeant)) return null;
    const text =
      isEmpty && shown.content.trim() === '' ? UNREAD : [said, ...words].filter((part) => part !== '').join('\n');
    const replyTo = replyOf(message, arrival, context);
    const answered = message.referenced_message;
    const quoted = answered == null ? [] : quotedFiles(attachmentsOf(shownIn(answered)).media, replyTo);
    return {
      edit: isEdit ? (message.edited_timestamp ?? '') : undefined,
      text,
      media: [...media, ...quoted],
      untrusted: isForward,
      shared: shared.join('\n'),
      ...(replyTo === undefined ? {} : { replyTo }),
      metadata: { sentAt: timeOf(message.id), ...(isForward ? { burst: 'forward' } : {}) },
    };
  });
}

/** Reads the press of a button, a slash command, or a command that was called on a message. All of them address the bot. */
export function readInteraction(
  interaction: DiscordInteraction,
  arrival: Omit<Arrival, 'isEdit'>,
  context: ReadingContext,
): InboundResult {
  const { id, member } = interaction;
  const user = member?.user ?? interaction.user;
  if (user === undefined) return nothing;
  const act = actIn(interaction);
  if (act === undefined) return nothing;
  const by = senderAccess({ user, nick: member?.nick, isBot: user.bot === true }, arrival, context);
  const { decision, sender, chatId } = by;
  const isStranger = !decision.allowed && decision.stranger !== null;
  if (isStranger) return { type: 'stranger', sender, chatId, where: decision.stranger };
  const draft = actOf(by, { id, ...act });
  return draft === null ? nothing : { type: 'message', draft };
}

/** What an interaction says; undefined: nothing that is understood. */
function actIn({ id, type, data }: DiscordInteraction): Omit<Parameters<typeof actOf>[1], 'id'> | undefined {
  if (type === BUTTON && data?.custom_id !== undefined) {
    const value = data.custom_id;
    return { text: textOfPress(value), action: { id: value, value } };
  }
  if (type !== COMMAND || data?.name === undefined) return undefined;
  if (data.type === ON_A_MESSAGE) {
    if (data.name !== ON_MESSAGE.label || data.target_id === undefined) return undefined;
    return {
      text: `/${ON_MESSAGE.command}`,
      replyTo: { externalId: `m:${data.target_id}`, sentAt: timeOf(data.target_id) },
      onlyTo: id,
    };
  }
  const words = (data.options ?? []).map(({ value }) => String(value)).join(' ');
  return { text: `/${data.name}${words === '' ? '' : ` ${words}`}` };
}

interface Who {
  readonly user: DiscordUser;
  readonly nick: string | null | undefined;
  readonly isBot: boolean;
}

/** The sender of a message or press, where it was, and whether access is allowed. */
export function senderAccess(
  { user, nick, isBot }: Who,
  { place, at }: Omit<Arrival, 'isEdit'>,
  { channel, me, access, pairedRole }: ReadingContext,
): SenderAccess {
  const chatType = place.isDirect ? 'direct' : 'group';
  const sender: Sender = { id: user.id, isBot, name: nameOf(user, nick), username: user.username };
  const decision = decideAccess({
    via: 'channel',
    settings: forPlace(access, place),
    pairedRole,
    chatType,
    chatId: place.address.chatId,
    sender: { id: user.id, isBot, isSelf: user.id === me.id },
  });
  return { channel, account: me.id, ...place.address, chatType, sender, receivedAt: at, decision };
}

/** `groups.allow` may also name a server or a thread: then the channel of this message counts as named. */
function forPlace(access: AccessSettings, { guildId, address: { chatId, threadId } }: ChatPlace): AccessSettings {
  const { groups } = access;
  const allowed = groups?.allow ?? [];
  const isNamed = [guildId, threadId].some((id) => id !== undefined && allowed.includes(id));
  return isNamed ? { ...access, groups: { ...groups, allow: [...allowed, chatId] } } : access;
}

/** Whether a message addresses the bot: it mentions it or one of its roles, begins with its name, or replies to it. */
function isAddressed(message: DiscordMessage, { guildId }: ChatPlace, { me, channels }: ReadingContext): boolean {
  const { nick, roles } = channels.self(guildId);
  if (message.mentions.some(({ id }) => id === me.id)) return true;
  if (message.mention_roles.some((id) => roles.has(id))) return true;
  if (message.referenced_message?.author.id === me.id) return true;
  return [me.username, me.global_name ?? '', nick ?? ''].some((name) => startsWithName(message.content, name));
}

/** What a message shows: the original of a forward, which itself has no content. */
function shownIn(message: DiscordWritten): DiscordContent {
  return message.message_snapshots?.[0]?.message ?? message;
}

/** The text of a message with ids replaced by names, without a mention of the bot at its beginning. */
function wordsOf(
  said: DiscordContent,
  mentions: readonly DiscordUser[],
  { place }: Pick<Arrival, 'place'>,
  { me, channels }: ReadingContext,
): string {
  const { roles, roleNames } = channels.self(place.guildId);
  const own = [`@!?${me.id}`, ...[...roles].map((role) => `@&${role}`)].join('|');
  const text = said.content.replace(new RegExp(`^\\s*<(?:${own})>[\\s,:]*`, 'u'), '');
  return withNames(text.trim(), {
    mentions: [...mentions, me],
    roleName: (id) => roleNames.get(id),
    placeName: (id) => channels.get(id)?.name,
  });
}

function replyOf(message: DiscordMessage, arrival: Arrival, context: ReadingContext): ReplyReference | undefined {
  const answered = message.referenced_message;
  if (answered == null) return undefined;
  const shown = shownIn(answered);
  const words = wordsOf(shown, message.mentions, arrival, context);
  const text = [words, ...namedAttachments(shown)].filter((part) => part !== '').join('\n');
  return {
    externalId: `m:${answered.id}`,
    senderName: nameOf(answered.author),
    ...(text === '' ? {} : { text: cut(text, REPLY_TEXT_LIMIT) }),
    author: authorOf(answered, message, context.me),
    sentAt: timeOf(answered.id),
  };
}

/** Whether a message shows what its sender may not have written: a poll, the name of a sticker. */
function isByOthers({ poll, sticker_items: stickers = [] }: DiscordContent): boolean {
  return poll !== undefined || stickers.length > 0;
}

/** Who wrote the message that is replied to. A forwarded message counts as written by somebody else. */
function authorOf(
  answered: DiscordWritten,
  { author }: DiscordMessage,
  me: DiscordUser,
): NonNullable<ReplyReference['author']> {
  if (answered.message_snapshots !== undefined && answered.message_snapshots.length > 0) return 'other';
  if (answered.author.id === me.id) return 'assistant';
  if (isByOthers(answered)) return 'other';
  return answered.author.id === author.id && answered.webhook_id === undefined ? 'sender' : 'other';
}
