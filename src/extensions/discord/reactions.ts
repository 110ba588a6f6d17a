import {
  type StateReactions,
  type ReactionChange,
  type ReactionDraft,
  type ReactionTarget,
  SendError,
} from '../../core/api-channels.ts';
import type { DiscordApi } from './api.ts';
import { callFailure } from './errors.ts';
import { senderAccess, type Arrival, type ReadingContext } from './inbound.ts';
import type { DiscordReaction } from './payload.ts';
import { placeOf } from './send.ts';

/** Off without a setting, because Discord shows typing. */
export const discordReactions: { readonly usual: StateReactions; readonly isOn: boolean } = {
  usual: { seen: '👀', working: '👀', done: false, failed: '⚠️' },
  isOn: false,
};

const MOST_PLACES = 1_000;

/** The places in which the bot may not react: there nothing is tried again, and the first is told. */
export class RefusedPlaces {
  readonly #places = new Set<string>();
  readonly #tell: () => void;

  constructor(tell: () => void) {
    this.#tell = tell;
  }

  /** Does it, unless it was refused in this place before. Rejects with what Discord answers. */
  async unlessRefused(place: string, work: () => Promise<void>): Promise<void> {
    if (this.#places.has(place)) throw new SendError('permanent', 'the bot may not add reactions there');
    try {
      await work();
    } catch (error) {
      if (callFailure(error).status === 403 && this.#places.size < MOST_PLACES) {
        if (this.#places.size === 0) this.#tell();
        this.#places.add(place);
      }
      throw error;
    }
  }
}

/** Adds and removes the bot's own reactions on a message; the new one first, so that it is never without. */
export async function react(
  api: DiscordApi,
  target: ReactionTarget,
  { add, remove }: ReactionChange,
  signal: AbortSignal,
): Promise<void> {
  const place = placeOf(target);
  if (add !== undefined) await api.react(place, target.platformId, add, signal);
  for (const emoji of remove) await api.unreact(place, target.platformId, emoji, signal);
}

/** A reaction that a person set or took back; null: it counts for nothing, or they may not write there. */
export function readReaction(
  { user_id: id, message_id: messageId, emoji, member }: DiscordReaction,
  { isSet, ...arrival }: Omit<Arrival, 'isEdit'> & { readonly isSet: boolean },
  context: ReadingContext,
): ReactionDraft | null {
  const user = { id, username: '', ...member?.user };
  if (id === context.me.id || user.bot === true || emoji.id != null || emoji.name == null) return null;
  const by = senderAccess({ user, nick: member?.nick, isBot: false }, arrival, context);
  const { decision, channel, account, chatId, chatType } = by;
  if (!decision.allowed) return null;
  // Of a reaction that is taken back, and in direct chats, Discord says only the id.
  const sender = member?.user === undefined ? { id, isBot: false } : by.sender;
  return {
    channel,
    account,
    chatId,
    chatType,
    sender,
    role: decision.role,
    messageId,
    emoji: emoji.name,
    isSet,
    at: arrival.at,
  };
}
