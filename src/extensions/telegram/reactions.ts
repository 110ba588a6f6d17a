import type { Api } from 'grammy/web';
import {
  type StateReactions,
  SendError,
  type ReactionChange,
  type ReactionDraft,
  type ReactionTarget,
} from '../../core/api-channels.ts';
import { senderAccess, type ReadingContext } from './inbound.ts';
import type { GrammySignal } from './transport.ts';
import type { TelegramReaction } from './update.ts';

/** The reactions that bots may set; https://core.telegram.org/bots/api#reactiontypeemoji */
const ALLOWED = new Set(
  '❤ 👍 👎 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 🤡 🥱 🥴 😍 🐳 ❤‍🔥 🌚 🌭 💯 🤣 ⚡ 🍌 🏆 💔 🤨 😐 🍓 🍾 💋 🖕 😈 😴 😭 🤓 👻 👨‍💻 👀 🎃 🙈 😇 😨 🤝 ✍ 🤗 🫡 🎅 🎄 ☃ 💅 🤪 🗿 🆒 💘 🙉 🦄 😘 💊 🙊 😎 👾 🤷‍♂ 🤷 🤷‍♀ 😡'.split(
    ' ',
  ),
);

type Emoji = Extract<
  NonNullable<Parameters<Api['raw']['setMessageReaction']>[0]['reaction']>[number],
  { type: 'emoji' }
>['emoji'];

/** Off without a setting, because Telegram shows typing and tells people of each reaction. */
export const telegramReactions: { readonly usual: StateReactions; readonly isOn: boolean } = {
  usual: { seen: '👀', working: '👀', done: false, failed: '😢' },
  isOn: false,
};

/** Emoji that Telegram does not let a bot react with. */
export function refusedEmoji(emojis: readonly string[]): readonly string[] {
  return emojis.filter((emoji) => allowed(emoji) === undefined);
}

/** Sets the one reaction that a bot may have on a message, or none. */
export async function react(
  api: Api,
  { chatId, platformId }: ReactionTarget,
  { add }: ReactionChange,
  signal: GrammySignal,
): Promise<void> {
  const emoji = add === undefined ? undefined : allowed(add);
  if (add !== undefined && emoji === undefined) throw new SendError('permanent', `Telegram has no reaction ${add}`);
  const reaction = emoji === undefined ? [] : [{ type: 'emoji' as const, emoji }];
  await api.raw.setMessageReaction({ chat_id: chatId, message_id: Number(platformId), reaction }, signal);
}

/** The reactions that a person set or took back with one update; none of people who may not write here. */
export function readReactions(
  reaction: TelegramReaction | undefined,
  context: ReadingContext,
): readonly ReactionDraft[] {
  const { user, chat, message_id: messageId, date, old_reaction: before, new_reaction: after } = reaction ?? {};
  if (user === undefined || chat === undefined || user.is_bot) return [];
  const { decision, channel, account, chatId, chatType, sender } = senderAccess(user, { chat }, context);
  if (!decision.allowed) return [];
  const draft = { channel, account, chatId, chatType, sender, role: decision.role, messageId: String(messageId) };
  const changed = (from: typeof before = [], to: typeof before = []): readonly string[] =>
    to.flatMap(({ emoji }) => (emoji === undefined || from.some((one) => one.emoji === emoji) ? [] : [emoji]));
  const at = (date ?? 0) * 1_000;
  return [
    ...changed(after, before).map((emoji) => ({ ...draft, emoji, isSet: false, at })),
    ...changed(before, after).map((emoji) => ({ ...draft, emoji, isSet: true, at })),
  ];
}

function allowed(emoji: string): Emoji | undefined {
  const plain = emoji.replaceAll('\u{FE0F}', '');
  return ALLOWED.has(plain) ? (plain as Emoji) : undefined;
}
