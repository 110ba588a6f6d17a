import { saidByPress } from '../../bus/buttons.ts';
import type { PairedRole, ReplyReference, Sender } from '../../bus/messages.ts';
import { decideAccess, type AccessDecision, type AccessSettings } from '../../security/access/access.ts';
import { cut } from '../../util/text.ts';
import { startsWithName, nothing, type InboundResult } from '../inbound/inbound-result.ts';
import { attachmentsOf, namedAttachments } from './attachments.ts';
import type { DiscordContent, DiscordInteraction, DiscordMessage, DiscordUser, DiscordWritten } from './payload.ts';
import type { Place, ChannelCache } from './channel-cache.ts';
import { nameOf, withNames } from './mentions.ts';

const REPLY_TEXT_LIMIT = 1_000;
/** Somebody's own words: plain, a reply. What else has a type says that somebody joined, pinned, … */
const SAID: ReadonlySet<number> = new Set([0, 19]);
const FORWARD = 1;
const COMMAND = 2;
const BUTTON = 3;

export interface ReadingContext {
  readonly channel: string;
  readonly me: DiscordUser;
  readonly channels: ChannelCache;
  readonly access: AccessSettings;
  readonly pairedRole: (senderId: string) => PairedRole | undefined;
}

interface Heard {
  readonly place: Place;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly isEdit: boolean;
}

/** A message for the assistant; who may not write is told apart before anything else is looked at. */
export function readMessage(message: DiscordMessage, heard: Heard, context: ReadingContext): InboundResult {
  const { place, at, isEdit } = heard;
  const { me, channel } = context;
  if (!SAID.has(message.type)) return nothing;
  const isBot = message.author.bot === true || message.webhook_id !== undefined;
  const who = { user: message.author, nick: message.member?.nick, isBot };
  const { sender, chatType, decision } = speakerOf(who, place, context);
  if (!decision.allowed && decision.stranger === null) return nothing;
  const isMeant = chatType === 'direct' || isAddressed(message, place, context);
  if (!isMeant && (!decision.allowed || isEdit)) return nothing;
  if (!decision.allowed) return { type: 'stranger', sender, chatId: place.address.chatId, where: chatType };
  const shown = message.message_snapshots?.[0]?.message;
  const isForward = shown !== undefined || message.message_reference?.type === FORWARD;
  const { media, words } = attachmentsOf(shown ?? message);
  const said = wordsOf(shown ?? message, message.mentions, heard, context);
  const text = [said, ...words].filter((part) => part !== '').join('\n');
  if (text === '' && media.length === 0) return nothing;
  const replyTo = replyOf(message, heard, context);
  return {
    type: isMeant ? 'message' : 'overheard',
    draft: {
      channel,
      account: me.id,
      ...place.address,
      chatType,
      sender,
      role: decision.role,
      text: isEdit ? `[edited an earlier message, which now says:]\n${text}` : text,
      media: isEdit ? [] : media,
      ...(replyTo === undefined ? {} : { replyTo }),
      mentioned: isMeant,
      context: [],
      receivedAt: at,
      externalId: isEdit ? `e:${message.id}:${message.edited_timestamp ?? ''}` : `m:${message.id}`,
      origin: 'user',
      untrusted: isForward,
      ...(isEdit ? { edits: { externalId: `m:${message.id}`, text } } : {}),
      metadata: { messageId: message.id, ...(isForward ? { burst: 'forward' } : {}) },
    },
  };
}

/** A button or a command: whoever may use it means the bot. */
export function readInteraction(
  interaction: DiscordInteraction,
  { place, at }: Omit<Heard, 'isEdit'>,
  context: ReadingContext,
): InboundResult {
  const { type, member, data } = interaction;
  const user = member?.user ?? interaction.user;
  if (user === undefined) return nothing;
  const value = type === BUTTON ? data?.custom_id : type === COMMAND ? commandOf(data) : undefined;
  if (value === undefined) return nothing;
  const who = { user, nick: member?.nick, isBot: user.bot === true };
  const { sender, chatType, decision } = speakerOf(who, place, context);
  if (!decision.allowed)
    return decision.stranger === null
      ? nothing
      : { type: 'stranger', sender, chatId: place.address.chatId, where: decision.stranger };
  const text = type === COMMAND ? value : saidByPress(value);
  return {
    type: 'message',
    draft: {
      channel: context.channel,
      account: context.me.id,
      ...place.address,
      chatType,
      sender,
      role: decision.role,
      text,
      media: [],
      mentioned: true,
      context: [],
      receivedAt: at,
      externalId: `b:${interaction.id}`,
      origin: 'user',
      untrusted: false,
      ...(type === BUTTON ? { action: { id: value, value } } : {}),
      metadata: {},
    },
  };
}

function commandOf(data: DiscordInteraction['data']): string | undefined {
  if (data?.name === undefined) return undefined;
  const words = (data.options ?? []).map(({ value }) => String(value)).join(' ');
  return `/${data.name}${words === '' ? '' : ` ${words}`}`;
}

interface Who {
  readonly user: DiscordUser;
  readonly nick: string | null | undefined;
  readonly isBot: boolean;
}

/** Who writes or presses, where, and whether they may. */
function speakerOf(
  { user, nick, isBot }: Who,
  place: Place,
  { me, access, pairedRole }: ReadingContext,
): { readonly sender: Sender; readonly chatType: 'direct' | 'group'; readonly decision: AccessDecision } {
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
  return { sender, chatType, decision };
}

/** A server or a thread that is named in `groups.allow` opens the channel that is spoken in. */
function forPlace(access: AccessSettings, { guildId, address: { chatId, threadId } }: Place): AccessSettings {
  const { groups } = access;
  const allowed = groups?.allow ?? [];
  const isNamed = [guildId, threadId].some((id) => id !== undefined && allowed.includes(id));
  return isNamed ? { ...access, groups: { ...groups, allow: [...allowed, chatId] } } : access;
}

/** By a mention of the account or of one of its roles, by name at the beginning, or as a reply to the bot. */
function isAddressed(message: DiscordMessage, { guildId }: Place, { me, channels }: ReadingContext): boolean {
  const { nick, roles } = channels.self(guildId);
  if (message.mentions.some(({ id }) => id === me.id)) return true;
  if (message.mention_roles.some((id) => roles.has(id))) return true;
  if (message.referenced_message?.author.id === me.id) return true;
  return [me.username, me.global_name ?? '', nick ?? ''].some((name) => startsWithName(message.content, name));
}

/** The words with names in the place of ids, without the mention of the bot that they begin with. */
function wordsOf(
  said: DiscordContent,
  mentions: readonly DiscordUser[],
  { place }: Pick<Heard, 'place'>,
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

function replyOf(message: DiscordMessage, heard: Heard, context: ReadingContext): ReplyReference | undefined {
  const answered = message.referenced_message;
  if (answered == null) return undefined;
  const words = wordsOf(answered, message.mentions, heard, context);
  const text = [words, ...namedAttachments(answered)].filter((part) => part !== '').join('\n');
  return {
    externalId: `m:${answered.id}`,
    senderName: nameOf(answered.author),
    ...(text === '' ? {} : { text: cut(text, REPLY_TEXT_LIMIT) }),
    author: authorOf(answered, message, context.me),
  };
}

/** A forward is nobody's own words. */
function authorOf(
  answered: DiscordWritten,
  { author }: DiscordMessage,
  me: DiscordUser,
): NonNullable<ReplyReference['author']> {
  if (answered.message_snapshots !== undefined && answered.message_snapshots.length > 0) return 'other';
  if (answered.author.id === me.id) return 'assistant';
  return answered.author.id === author.id && answered.webhook_id === undefined ? 'sender' : 'other';
}
