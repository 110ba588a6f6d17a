import {
  textOfPress,
  ON_MESSAGE,
  type Media,
  type PairedRole,
  type Sender,
  decideAccess,
  type AccessSettings,
  actOf,
  quotedFiles,
  writtenBy,
  type SenderAccess,
  UNREAD,
  startsWithName,
  nothing,
  type InboundResult,
  type ContextMessage,
} from '../../core/api-channels.ts';
import type { InboundDraft } from '../../core/api.ts';
import { contentOf } from './attachments.ts';
import {
  chatTypeOf,
  timeOf,
  type BotAccount,
  type PlacedPost,
  type SlackCommand,
  type SlackPress,
  type SlackShortcut,
} from './post.ts';
import { mentionedIds, mentions, withNames, withoutAddress, type NameOf } from './mentions.ts';

export interface ReadingContext {
  readonly channel: string;
  readonly me: BotAccount;
  readonly access: AccessSettings;
  readonly pairedRole: (senderId: string, chatId?: string) => PairedRole | undefined;
  /** What people are called, as far as it is known. */
  readonly nameOf: NameOf;
  /** Names of the chat commands. */
  readonly commands: ReadonlySet<string>;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** Posts that Slack writes about a conversation: joins, topics and the like. A person or a bot wrote all others. */
const SYSTEM =
  /^(?:(?:channel|group|im|mpim)_\w+|(?:un)?pinned_item|bot_(?:add|remove|enable|disable)\w*|tombstone|ekm_access_denied|reminder_\w+|sh_room_\w+|huddle_\w+|assistant_\w+|message_\w+|joiner_\w+|slackbot_response|(?:channel_)?canvas_\w+)$/u;

/** The people whose names are needed to read a post; empty when its writer may not be heard: of them nothing is asked. */
export function namesNeeded(placed: PlacedPost, context: ReadingContext): readonly string[] {
  const { post } = placed;
  if (!senderAccess(placed, context)?.decision.allowed) return [];
  return [...new Set([...(post.user === undefined ? [] : [post.user]), ...mentionedIds(post.text)])];
}

/** A post as a message for the assistant. */
export function readPost(placed: PlacedPost, context: ReadingContext): InboundResult {
  const { post, before } = placed;
  const { me, nameOf } = context;
  const by = senderAccess(placed, context);
  if (by === null || isSystem(post)) return nothing;
  const isEdit = before !== null;
  // Slack also says so when it adds the picture of a link, or an answer to the thread.
  if (isEdit && (post.edited === undefined || before === post.text)) return nothing;
  const isMeant = by.chatType === 'direct' || isAddressed(post, me);
  return writtenBy(by, { messageId: post.ts, isMeant, isEdit }, () => {
    const { said, media, words, shared } = contentOf(post, nameOf);
    const own = withNames(withoutAddress(said, me.user_id), nameOf).trim();
    const text = [own, ...words].filter((part) => part !== '').join('\n');
    const isEmpty = text === '' && shared.length === 0 && media.length === 0;
    if (isEmpty && !isMeant) return null;
    const edit = isEdit ? (post.edited?.ts ?? '') : undefined;
    return {
      edit,
      text: isEmpty && said.trim() === '' ? UNREAD : text,
      media,
      untrusted: false,
      shared: shared.join('\n'),
      metadata: { sentAt: timeOf(post.ts) },
    };
  });
}

/** Reads the press of a button under one of the bot's messages, as a message from the person who pressed it. */
export function readPress(press: SlackPress, context: ReadingContext): InboundDraft | null {
  const { user, channel, container, message } = press;
  const [action] = press.actions;
  const value = action?.value;
  if (action === undefined || value === undefined) return null;
  const ts = container?.message_ts ?? message?.ts ?? '';
  const thread = threadOf(container?.thread_ts ?? message?.thread_ts, ts);
  const id = `${ts}:${action.action_ts}:${user.id}`;
  const by = { ...actorOf(user.id, channel.id, context), ...thread };
  return actOf(by, { id, text: textOfPress(value), action: { id: value, value } });
}

/** Reads a shortcut from the menu of a message, as the command that it stands for, in reply to that message and privately. */
export function readShortcut(shortcut: SlackShortcut, context: ReadingContext): InboundDraft | null {
  const { user, channel, message, action_ts: at } = shortcut;
  const by = { ...actorOf(user.id, channel.id, context), ...threadOf(message.thread_ts, message.ts) };
  return actOf(by, {
    id: `${message.ts}:${at}:${user.id}`,
    text: `/${ON_MESSAGE.command}`,
    replyTo: { externalId: `m:${message.ts}`, sentAt: timeOf(message.ts) },
    onlyTo: user.id,
  });
}

/** `/assistant status` is the command of that name; other words are simply said. */
export function readCommand(command: SlackCommand, context: ReadingContext): InboundDraft | null {
  const words = withNames(command.text, context.nameOf).trim();
  const [first = ''] = words.split(/\s/u);
  const isNamed = context.commands.has(first.toLowerCase());
  const text = words === '' ? '/help' : isNamed ? `/${words}` : words;
  return actOf(actorOf(command.user_id, command.channel_id, context), { id: command.trigger_id, text });
}

/** Who did something rather than wrote. */
export function actorOf(userId: string, chatId: string, context: ReadingContext): SenderAccess {
  const name = context.nameOf(userId);
  const sender: Sender = { id: userId, isBot: false, ...(name === undefined ? {} : { name }) };
  const isSelf = userId === context.me.user_id;
  return speakerIn({ chatId, chatType: chatTypeOf(chatId) }, { sender, isSelf }, context);
}

/** An earlier post of a thread, for reading along; null when it says nothing. */
export function contextOf(placed: PlacedPost, context: ReadingContext): ContextMessage | null {
  const { post } = placed;
  const { nameOf } = context;
  const { said, words, media, shared } = contentOf(post, nameOf);
  const files = media.map(({ kind, name }) => (name === undefined ? `[${kind}]` : `[${kind} ${name}]`));
  const parts = [withNames(said, nameOf).trim(), ...shared, ...words, ...files];
  const text = parts.filter((part) => part !== '').join('\n');
  const senderName = senderOf(post, nameOf).name ?? post.user ?? post.bot_id ?? 'somebody';
  const decision = senderAccess(placed, context)?.decision;
  const isOwners = decision?.allowed === true && decision.role === 'owner' && shared.length === 0 && media.length === 0;
  return text === '' || isSystem(post)
    ? null
    : { senderName, text, at: timeOf(post.ts), ...(isOwners ? { isOwners } : {}) };
}

/** The pictures of an earlier post, and voice messages of others. */
export function picturesOf({ post }: PlacedPost, { nameOf, me }: ReadingContext): readonly Media[] {
  if (isSystem(post)) return [];
  const author = isFromSelf(post, me) ? 'assistant' : 'other';
  const senderName = senderOf(post, nameOf).name ?? 'somebody';
  return quotedFiles(contentOf(post, nameOf).media, { externalId: `m:${post.ts}`, author, senderName });
}

function isSystem({ subtype }: PlacedPost['post']): boolean {
  return subtype !== undefined && SYSTEM.test(subtype);
}

/** Whether the bot itself wrote a post. */
export function isFromSelf(post: Pick<PlacedPost['post'], 'user' | 'bot_id'>, me: BotAccount): boolean {
  return post.user === me.user_id || (post.bot_id !== undefined && post.bot_id === me.bot_id);
}

function senderAccess({ post, chatId, chatType }: PlacedPost, context: ReadingContext): SenderAccess | null {
  const { me, nameOf } = context;
  if (post.user === undefined && post.bot_id === undefined) return null;
  const isSelf = isFromSelf(post, me);
  const place = { chatId, ...threadOf(post.thread_ts, post.ts), chatType };
  return speakerIn(place, { sender: senderOf(post, nameOf), isSelf }, context);
}

/** Who it is, where, and whether they may. */
function speakerIn(
  place: Pick<SenderAccess, 'chatId' | 'threadId' | 'chatType'>,
  { sender, isSelf }: { readonly sender: Sender; readonly isSelf: boolean },
  { channel, me, access, pairedRole, now }: ReadingContext,
): SenderAccess {
  const { chatId, chatType } = place;
  const who = { id: sender.id, isBot: sender.isBot, isSelf };
  const decision = decideAccess({ via: 'channel', settings: access, pairedRole, chatType, chatId, sender: who });
  return { channel, account: me.user_id, ...place, sender, receivedAt: now, decision };
}

function senderOf(post: PlacedPost['post'], nameOf: NameOf): Sender {
  const id = post.user ?? post.bot_id ?? '';
  const name = nameOf(id) ?? post.username ?? post.bot_profile?.name;
  return { id, isBot: post.bot_id !== undefined, ...(name === undefined ? {} : { name }) };
}

/** A thread has the id of the post it hangs on; that post itself stands in the channel. */
function threadOf(threadTs: string | undefined, ts: string): { readonly threadId?: string } {
  return threadTs === undefined || threadTs === ts ? {} : { threadId: threadTs };
}

/** By a mention, by its name at the beginning, or in a thread that hangs on a post of the bot's. */
function isAddressed(post: PlacedPost['post'], me: BotAccount): boolean {
  if (post.parent_user_id === me.user_id && post.thread_ts !== post.ts) return true;
  return mentions(post.text, me.user_id) || startsWithName(post.text, me.user);
}
