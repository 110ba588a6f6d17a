import {
  type StateReactions,
  SendError,
  type ReactionChange,
  type ReactionDraft,
  type ReactionTarget,
} from '../../core/api-channels.ts';
import { raceAbort } from '../../core/api.ts';
import { callFailure } from './errors.ts';
import { actorOf, type ReadingContext } from './inbound.ts';
import { timeOf, type SlackReaction } from './post.ts';
import type { SlackClient } from './web-client.ts';

/** On without a setting, because Slack lets bots show typing only in its own assistant panes. */
export const slackReactions: { readonly usual: StateReactions; readonly isOn: boolean } = {
  usual: { seen: '👀', working: '👀', done: false, failed: '⚠️' },
  isOn: true,
};

/** Emoji with Slack's names for them, of which the first is used. */
const NAMES: ReadonlyMap<string, readonly string[]> = new Map(
  [
    '👍 +1 thumbsup|👎 -1 thumbsdown|❤ heart|🔥 fire|👏 clap|🎉 tada|🤩 star-struck|💯 100|🙏 pray|👌 ok_hand',
    '😍 heart_eyes|🥰 smiling_face_with_3_hearts|❤‍🔥 heart_on_fire|🏆 trophy|🤝 handshake|🫡 saluting_face',
    '🙌 raised_hands|😁 grin|😂 joy|🤣 rolling_on_the_floor_laughing|✅ white_check_mark|✔ heavy_check_mark|😢 cry',
    '😭 sob|😡 rage|💔 broken_heart|🤬 face_with_symbols_on_mouth|🤮 face_vomiting|💩 hankey poop|❌ x',
    '🤔 thinking_face|🤨 face_with_raised_eyebrow|😐 neutral_face|🥱 yawning_face|🤦 face_palm|👀 eyes|⚠ warning',
    '⏳ hourglass_flowing_sand|✍ writing_hand|⚡ zap',
  ]
    .flatMap((line) => line.split('|'))
    .map((entry) => entry.split(' '))
    .map(([emoji = '', ...names]) => [emoji, names]),
);

/** Emoji of which no name in Slack is known. */
export function unknownEmoji(emojis: readonly string[]): readonly string[] {
  return emojis.filter((emoji) => nameOf(emoji) === undefined);
}

/** Adds and removes the bot's own reactions on a post. What is so already is no failure. */
export async function react(
  client: SlackClient,
  { chatId: channel, platformId: timestamp }: ReactionTarget,
  { add, remove }: ReactionChange,
  signal: AbortSignal,
): Promise<void> {
  const named = (emoji: string): { channel: string; timestamp: string; name: string } => {
    const name = nameOf(emoji);
    if (name === undefined) throw new SendError('permanent', `no name in Slack is known for ${emoji}`);
    return { channel, timestamp, name };
  };
  if (add !== undefined) {
    await unless('already_reacted', () => raceAbort(client.reactions.add(named(add)), signal));
  }
  for (const emoji of remove) {
    await unless('no_reaction', () => raceAbort(client.reactions.remove(named(emoji)), signal));
  }
}

/** A reaction that a person set or took back; null: they may not write there. */
export function readReaction(
  { type, user, reaction, item, event_ts: ts }: SlackReaction,
  context: ReadingContext,
): ReactionDraft | null {
  const { decision, channel, account, chatId, chatType, sender } = actorOf(user, item.channel, context);
  if (!decision.allowed) return null;
  const emoji = emojiOf(reaction);
  const isSet = type === 'reaction_added';
  const draft = { channel, account, chatId, chatType, sender, role: decision.role };
  return { ...draft, messageId: item.ts, emoji, isSet, at: timeOf(ts) };
}

/** A name of Slack's, with or without colons, stays as it is. Undefined for an emoji without a known name. */
function nameOf(emoji: string): string | undefined {
  const plain = emoji.replaceAll(/\p{Variation_Selector}/gu, '');
  const name = NAMES.get(plain)?.[0] ?? plain.replaceAll(':', '');
  return /^[\w+-]+$/u.test(name) ? name : undefined;
}

/** Without the tone of the skin, which follows two colons; a name that is not known as it is. */
function emojiOf(name: string): string {
  const [plain = ''] = name.split('::');
  const known = Array.from(NAMES).find(([, names]) => names.includes(plain));
  return known?.[0] ?? plain;
}

async function unless(code: string, call: () => Promise<unknown>): Promise<void> {
  try {
    await call();
  } catch (error) {
    if (callFailure(error).code !== code) throw error;
  }
}
