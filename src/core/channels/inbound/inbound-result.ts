import type * as z from 'zod';
import type { InboundDraft, Sender } from '../../bus/messages.ts';
import type { PassedOver } from '../channel.ts';

/** A bot's name with fewer characters is not recognised at the beginning of a message, because it may be an ordinary word. */
const SHORTEST_NAME = 3;

/**
 * The result of reading an update. `nothing`: it has no message, or its sender may not write, or it is not for the bot.
 * `passed`: the message, and why it is not taken.
 */
export type InboundResult =
  | { readonly type: 'message'; readonly draft: InboundDraft }
  /** A group message of an allowed person that does not address the bot. */
  | { readonly type: 'overheard'; readonly draft: InboundDraft }
  /** An unknown person addressed the bot. */
  | {
      readonly type: 'stranger';
      readonly sender: Sender;
      readonly chatId: string;
      readonly where: 'direct' | 'group';
      readonly passed?: PassedOver;
    }
  | { readonly type: 'nothing'; readonly passed?: PassedOver };

export const nothing: InboundResult = { type: 'nothing' };

/** The error for an update of an unknown shape: one sentence, without the content of the update. */
export function unknownShape(error: z.ZodError | undefined): TypeError {
  const path = error?.issues[0]?.path.join('.') ?? '';
  return new TypeError(`it has an unknown shape${path === '' ? '' : ` at ${path}`}`);
}

/** Whether a text begins with a bot's name: `Jeeves, what now?` */
export function startsWithName(text: string, name: string): boolean {
  if (name.length < SHORTEST_NAME) return false;
  const begun = text.trimStart().toLowerCase();
  return begun.startsWith(name.toLowerCase()) && /^(?:[\s,:;!?.]|$)/u.test(begun.slice(name.length));
}
