import { saidByPress } from '../../bus/buttons.ts';
import type { ContextMessage, InboundDraft, PairedRole, Sender } from '../../bus/messages.ts';
import { decideAccess, type AccessDecision, type AccessSettings } from '../../security/access/access.ts';
import { startsWithName, nothing, type InboundResult } from '../inbound/inbound-result.ts';
import { attachmentsOf } from './attachments.ts';
import { chatTypeOf, timeOf, type BotAccount, type PlacedPost, type SlackCommand, type SlackPress } from './post.ts';
import { mentionedIds, mentions, withNames, withoutAddress, type NameOf } from './mentions.ts';

export interface ReadingContext {
  readonly channel: string;
  readonly me: BotAccount;
  readonly access: AccessSettings;
  readonly pairedRole: (senderId: string) => PairedRole | undefined;
  /** What people are called, as far as it is known. */
  readonly nameOf: NameOf;
  /** Names of the chat commands. */
  readonly commands: ReadonlySet<string>;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** Joins, topics and the like say nothing to anybody. */
const SPOKEN: ReadonlySet<string | undefined> = new Set([
  undefined,
  'file_share',
  'thread_broadcast',
  'me_message',
  'bot_message',
]);

/** The people whose names are needed to read a post; empty when its writer may not be heard: of them nothing is asked. */
export function namesNeeded(placed: PlacedPost, context: ReadingContext): readonly string[] {
  const { post } = placed;
  if (!speakerOf(placed, context)?.decision.allowed) return [];
  return [...new Set([...(post.user === undefined ? [] : [post.user]), ...mentionedIds(post.text)])];
}

/** A post as a message for the assistant; who may not write is told apart before anything else is looked at. */
export function readPost(placed: PlacedPost, context: ReadingContext): InboundResult {
  const { post, chatId, chatType, before } = placed;
  const { channel, me, nameOf, now } = context;
  const speaker = speakerOf(placed, context);
  if (speaker === null || !SPOKEN.has(post.subtype)) return nothing;
  const { decision, sender } = speaker;
  if (!decision.allowed && decision.stranger === null) return nothing;
  // Slack also says so when it adds the picture of a link, or an answer to the thread.
  if (before !== null && (post.edited === undefined || before === post.text)) return nothing;
  const isMeant = chatType === 'direct' || isAddressed(post, me);
  if (!isMeant && (!decision.allowed || before !== null)) return nothing;
  if (!decision.allowed) return { type: 'stranger', sender, chatId, where: chatType };
  const { media, words, shared } = attachmentsOf(post, nameOf);
  const said = withNames(withoutAddress(post.text, me.user_id), nameOf).trim();
  const text = [said, ...words].filter((part) => part !== '').join('\n');
  if (text === '' && media.length === 0 && !isMeant) return nothing;
  const edited = before !== null;
  const thread = threadOf(post.thread_ts, post.ts);
  return {
    type: isMeant ? 'message' : 'overheard',
    draft: {
      channel,
      account: me.user_id,
      chatId,
      ...thread,
      chatType,
      sender,
      role: decision.role,
      text: edited ? `[edited an earlier message, which now says:]\n${text}` : text,
      media: edited ? [] : media,
      mentioned: isMeant,
      context: [],
      receivedAt: now,
      externalId: edited ? `e:${post.ts}:${post.edited?.ts ?? ''}` : `m:${post.ts}`,
      origin: 'user',
      untrusted: shared,
      ...(edited ? { edits: { externalId: `m:${post.ts}`, text } } : {}),
      metadata: { messageId: post.ts, sentAt: timeOf(post.ts) },
    },
  };
}

/** A button under one of the bot's own messages: whoever may press it, it says what they mean. */
export function readPress(press: SlackPress, context: ReadingContext): InboundDraft | null {
  const { user, channel, container, message } = press;
  const [action] = press.actions;
  const value = action?.value;
  if (action === undefined || value === undefined) return null;
  const ts = container?.message_ts ?? message?.ts ?? '';
  const draft = actOf(user.id, channel.id, context);
  return draft === null
    ? null
    : {
        ...draft,
        ...threadOf(container?.thread_ts ?? message?.thread_ts, ts),
        text: saidByPress(value),
        externalId: `b:${ts}:${action.action_ts}:${user.id}`,
        action: { id: value, value },
      };
}

/** `/assistant status` is the command of that name; other words are simply said. */
export function readCommand(command: SlackCommand, context: ReadingContext): InboundDraft | null {
  const draft = actOf(command.user_id, command.channel_id, context);
  const text = withNames(command.text, context.nameOf).trim();
  const [first = ''] = text.split(/\s/u);
  const isNamed = context.commands.has(first.toLowerCase());
  return draft === null
    ? null
    : { ...draft, text: text === '' ? '/help' : isNamed ? `/${text}` : text, externalId: `b:${command.trigger_id}` };
}

/** What somebody did rather than wrote; null when they may not. */
function actOf(userId: string, chatId: string, context: ReadingContext): InboundDraft | null {
  const { channel, me, nameOf, now } = context;
  const chatType = chatTypeOf(chatId);
  const name = nameOf(userId);
  const sender: Sender = { id: userId, isBot: false, ...(name === undefined ? {} : { name }) };
  const decision = decide(sender, { chatId, chatType, isSelf: userId === me.user_id }, context);
  if (!decision.allowed) return null;
  return {
    channel,
    account: me.user_id,
    chatId,
    chatType,
    sender,
    role: decision.role,
    text: '',
    media: [],
    mentioned: true,
    context: [],
    receivedAt: now,
    externalId: '',
    origin: 'user',
    untrusted: false,
    metadata: {},
  };
}

/** An earlier post of a thread, for reading along; null when it says nothing. */
export function contextOf(placed: PlacedPost, context: ReadingContext): ContextMessage | null {
  const { post } = placed;
  const { nameOf } = context;
  const { words, media, shared } = attachmentsOf(post, nameOf);
  const files = media.map(({ kind, name }) => (name === undefined ? `[${kind}]` : `[${kind} ${name}]`));
  const text = [withNames(post.text, nameOf).trim(), ...words, ...files].filter((part) => part !== '').join('\n');
  const senderName = senderOf(post, nameOf).name ?? post.user ?? post.bot_id ?? 'somebody';
  const decision = speakerOf(placed, context)?.decision;
  const isOwners = decision?.allowed === true && decision.role === 'owner' && !shared && media.length === 0;
  return text === '' || !SPOKEN.has(post.subtype)
    ? null
    : { senderName, text, at: timeOf(post.ts), ...(isOwners ? { isOwners } : {}) };
}

function speakerOf(
  { post, chatId, chatType }: PlacedPost,
  context: ReadingContext,
): { readonly sender: Sender; readonly decision: AccessDecision } | null {
  const { me, nameOf } = context;
  if (post.user === undefined && post.bot_id === undefined) return null;
  const sender = senderOf(post, nameOf);
  const isSelf = post.user === me.user_id || (post.bot_id !== undefined && post.bot_id === me.bot_id);
  return { sender, decision: decide(sender, { chatId, chatType, isSelf }, context) };
}

function decide(
  sender: Sender,
  where: { readonly chatId: string; readonly chatType: 'direct' | 'group'; readonly isSelf: boolean },
  { access, pairedRole }: ReadingContext,
): AccessDecision {
  const { chatId, chatType, isSelf } = where;
  const who = { id: sender.id, isBot: sender.isBot, isSelf };
  return decideAccess({ via: 'channel', settings: access, pairedRole, chatType, chatId, sender: who });
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
