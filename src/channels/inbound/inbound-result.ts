import type * as z from 'zod';
import type { InboundDraft, Sender } from '../../bus/messages.ts';
import type { GroupTalk } from './group-talk.ts';

/** Characters of a bot's name below which it is too often a word like others. */
const SHORTEST_NAME = 3;

/** What something that came from a platform is to the assistant. `nothing`: none that may be heard, or not meant for the bot. */
export type InboundResult =
  | { readonly type: 'message'; readonly draft: InboundDraft }
  /** Somebody who may be heard said it in a group without meaning the bot. */
  | { readonly type: 'overheard'; readonly draft: InboundDraft }
  /** An unknown person means the bot. */
  | { readonly type: 'stranger'; readonly sender: Sender; readonly chatId: string; readonly where: 'direct' | 'group' }
  | { readonly type: 'nothing' };

export const nothing: InboundResult = { type: 'nothing' };

/** What is wrong with an update of an unknown shape, in one sentence without its content. */
export function unknownShape({ issues }: z.ZodError): TypeError {
  const path = issues[0]?.path.join('.') ?? '';
  return new TypeError(`it has an unknown shape${path === '' ? '' : ` at ${path}`}`);
}

/** The message of a reading, if something is to be done about it; what is said in a group goes through its talk. */
export function inboundResult(read: InboundResult, talk: GroupTalk): InboundDraft | null {
  if (read.type !== 'message' && read.type !== 'overheard') return null;
  const { draft, type } = read;
  const isSaid = draft.chatType === 'group' && draft.action === undefined;
  return isSaid ? talk.hear(draft, type === 'message') : draft;
}

/** Whether a text begins with a bot's name: `Jeeves, what now?` */
export function startsWithName(text: string, name: string): boolean {
  if (name.length < SHORTEST_NAME) return false;
  const begun = text.trimStart().toLowerCase();
  return begun.startsWith(name.toLowerCase()) && /^(?:[\s,:;!?.]|$)/u.test(begun.slice(name.length));
}
