import type { InboundDraft } from './messages.ts';

/** A reaction that a person set on a message of the assistant, or took back. */
export interface ReactionDraft extends Pick<
  InboundDraft,
  'channel' | 'account' | 'chatId' | 'chatType' | 'sender' | 'role'
> {
  /** Platform id of the message that it stands on. */
  readonly messageId: string;
  /** As the platform names it; see `opinionOf`. */
  readonly emoji: string;
  /** False: it was taken back. */
  readonly isSet: boolean;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** A reaction as the model is told of it. */
export interface ToldReaction {
  readonly emoji: string;
  readonly person: Pick<InboundDraft['sender'], 'id' | 'name'>;
  readonly role: InboundDraft['role'];
  /** The message that it stands on, as it was written; null: no longer known. */
  readonly text: string | null;
  /** Untrusted text may have shaped that message. */
  readonly untrusted: boolean;
}

const OPINIONS = new Set(
  '👍 👎 ❤ 🔥 🥰 👏 🎉 🤩 💯 🙏 👌 😍 ❤‍🔥 🏆 🤝 🫡 🙌 😁 😂 🤣 ✅ 😢 😭 😡 🤬 🤮 💩 💔 🤔 🤨 😐 🥱 🤦 ❌'.split(' '),
);

/** The emoji of a reaction without skin tone, if it says what somebody thinks of a message; else undefined. */
export function opinionOf(emoji: string): string | undefined {
  const plain = emoji.replaceAll(/\p{Emoji_Modifier}|\p{Variation_Selector}/gu, '');
  return OPINIONS.has(plain) ? plain : undefined;
}

/** The states of a person's message that the assistant shows by a reaction. */
export type MessageState = 'seen' | 'working' | 'done' | 'failed';

/** The reaction of each state: an emoji; false: none. */
export type StateReactions = Readonly<Record<MessageState, string | false>>;
