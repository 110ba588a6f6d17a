import type { ContextMessage, InboundDraft } from '../../bus/messages.ts';
import { RecentMap } from '../../util/recent-map.ts';
import { cut } from '../../util/text.ts';
import * as z from 'zod';

const amount = (usual: number): z.ZodDefault<z.ZodNumber> => z.number().min(0).default(usual);

/** How a channel behaves in groups; the same for every platform. */
export const groupOptions = z
  .object({
    /** When it answers: when it is meant, whenever it has something to say, never. */
    policy: z.enum(['mention', 'open', 'off']).default('mention'),
    /** Ids of the groups it takes part in; empty is every group. With the policy `open` members of those are guests. */
    allow: z.array(z.coerce.string()).default([]),
    /** Ids of other bots that it listens to. */
    allowBots: z.array(z.coerce.string()).default([]),
    /** Most turns an hour that other bots may start. */
    botTurnsPerHour: amount(10),
    /** So long after an answer its sender may go on without a mention. */
    followUpSeconds: amount(60),
    /** How old the talk before a mention may be to be read along. */
    contextMinutes: amount(60),
  })
  .prefault({});

export type GroupOptions = z.output<typeof groupOptions>;

/** Of one place. */
const MOST_CONTEXT = 50;
const LONGEST_CONTEXT = 1_000;
/** Groups and their threads that are remembered. */
const MOST_GROUPS = 1_000;
/** Messages that are known to have been heard: what comes again is not counted again. */
const MOST_HEARD = 500;
const HOUR_MS = 3_600_000;

type Place = Pick<InboundDraft, 'chatId' | 'threadId'>;

interface Talk {
  /** Said without meaning the bot, oldest first. */
  context: readonly ContextMessage[];
  /** Who spoke to the bot last, and until when that goes on without a mention. */
  partner: { readonly id: string; readonly until: number } | undefined;
}

/**
 * What a bot hears of its groups: who means it begins a turn, what others say in between is kept for a while so that it
 * can be read along, and begins nothing. It lives in memory: none of it was promised an answer.
 */
export class GroupTalk {
  readonly #options: GroupOptions;
  readonly #talks = new RecentMap<string, Talk>(MOST_GROUPS);
  readonly #heard = new RecentMap<string, { readonly taken: InboundDraft | null }>(MOST_HEARD);
  /** When other bots began turns in the last hour. */
  #botTurns: readonly number[] = [];

  constructor(options: GroupOptions) {
    this.#options = options;
  }

  /**
   * The message as the assistant gets it, with what was said before it; null when nothing is to be done about it. Heard
   * once: a platform that brings the same message again gets the same.
   */
  hear(draft: InboundDraft, isMeant: boolean): InboundDraft | null {
    const key = JSON.stringify([draft.chatId, draft.externalId]);
    const known = this.#heard.get(key);
    if (known !== undefined) return known.taken;
    const taken = this.#hear(draft, isMeant);
    this.#heard.set(key, { taken });
    return taken;
  }

  #hear(draft: InboundDraft, isMeant: boolean): InboundDraft | null {
    const talk = this.#talkIn(draft);
    const mentioned = isMeant || this.#goesOn(talk, draft);
    const isTaken = (mentioned || this.#options.policy === 'open') && this.#mayBegin(draft);
    if (!isTaken) {
      talk.context = [...talk.context, contextOf(draft)].slice(-MOST_CONTEXT);
      return null;
    }
    const { receivedAt } = draft;
    const oldest = receivedAt - this.#options.contextMinutes * 60_000;
    const context = talk.context.filter(({ at }) => at >= oldest);
    talk.context = [];
    if (mentioned) talk.partner = { id: draft.sender.id, until: this.#until(receivedAt) };
    return { ...draft, mentioned, context: [...context, ...draft.context] };
  }

  /** An answer went there: whom it was for may go on. */
  answered(place: Place, at: number): void {
    const talk = this.#talks.get(keyOf(place));
    if (talk?.partner !== undefined) talk.partner = { id: talk.partner.id, until: this.#until(at) };
  }

  #talkIn(place: Place): Talk {
    const key = keyOf(place);
    const talk = this.#talks.get(key) ?? { context: [], partner: undefined };
    this.#talks.set(key, talk);
    return talk;
  }

  #goesOn({ partner }: Talk, { sender, receivedAt }: InboundDraft): boolean {
    return !sender.isBot && partner?.id === sender.id && receivedAt <= partner.until;
  }

  #until(at: number): number {
    return at + this.#options.followUpSeconds * 1_000;
  }

  /** Bots could keep each other talking for ever. */
  #mayBegin({ sender, receivedAt }: InboundDraft): boolean {
    if (!sender.isBot) return true;
    this.#botTurns = this.#botTurns.filter((at) => at > receivedAt - HOUR_MS);
    if (this.#botTurns.length >= this.#options.botTurnsPerHour) return false;
    this.#botTurns = [...this.#botTurns, receivedAt];
    return true;
  }
}

/** Of the owner's own message only its words are kept: no file, and nothing that it quotes. */
function contextOf({ sender, text, receivedAt, role, untrusted, media }: InboundDraft): ContextMessage {
  const isOwners = role === 'owner' && !untrusted && media.length === 0;
  return {
    senderName: sender.name ?? sender.username ?? sender.id,
    text: cut(text, LONGEST_CONTEXT),
    at: receivedAt,
    ...(isOwners ? { isOwners } : {}),
  };
}

function keyOf({ chatId, threadId }: Place): string {
  return JSON.stringify([chatId, threadId]);
}
