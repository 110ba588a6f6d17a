import type { ContextMessage, InboundDraft, Media } from '../../bus/messages.ts';
import { RecentMap } from '../../util/recent-map.ts';
import { cut } from '../../util/text.ts';
import * as z from 'zod';

const amount = (usual: number): z.ZodDefault<z.ZodNumber> => z.number().min(0).default(usual);

/** How a channel behaves in groups; the same for every platform. */
export const groupOptions = z
  .object({
    /** Which messages it answers: those that address it, all, or none. */
    policy: z.enum(['mention', 'open', 'off']).default('mention'),
    /** Ids of the groups it takes part in; empty is every group. With the policy `open` members of those are guests. */
    allow: z.array(z.coerce.string()).default([]),
    /** Ids of other bots that it listens to. */
    allowBots: z.array(z.coerce.string()).default([]),
    /** Most turns an hour that other bots may start. */
    botTurnsPerHour: amount(10),
    /** For this time after an answer, the person who got it needs no mention. */
    followUpSeconds: amount(60),
    /** Group messages of this age at most are shown to the model with a mention that follows them. */
    contextMinutes: amount(60),
  })
  .prefault({});

export type GroupOptions = z.output<typeof groupOptions>;

/** Caps for one group or thread: messages, and characters of each. */
const MOST_CONTEXT = 50;
const LONGEST_CONTEXT = 1_000;
/** Most voice messages before a mention that are turned into text for it: the newest. */
const MOST_VOICES = 3;
/** Cap of remembered groups and threads. */
const MOST_GROUPS = 1_000;
/** Cap of remembered messages, so that a repeated one does not count twice. */
const MOST_HEARD = 500;
const HOUR_MS = 3_600_000;

/** Why a message gets no answer. */
const NOT_ADDRESSED = 'it did not mention me or reply to me, which groups.policy asked for';
const TOO_MANY_BOTS = 'other bots had begun as many turns in that hour as groups.botTurnsPerHour allows';

type Place = Pick<InboundDraft, 'chatId' | 'threadId'>;

interface Talk {
  /** Messages that did not address the bot, oldest first. */
  context: readonly ContextMessage[];
  /** The newest voice messages among them. */
  voices: readonly { readonly at: number; readonly file: Media }[];
  /** Who addressed the bot last, and until when (ms since 1970) that person needs no mention. */
  partner: { readonly id: string; readonly until: number } | undefined;
  /** The newest album, its parts that did not address the bot, and whether one did. */
  album: { readonly key: string; readonly parts: readonly InboundDraft[]; readonly isMeant: boolean } | undefined;
}

/**
 * The group messages of a bot. One that addresses the bot becomes a message for the assistant; the others are kept in memory
 * for a while and are passed on as its context. They are not durable, because none of them gets an answer.
 */
export class GroupTalk {
  readonly #options: GroupOptions;
  readonly #talks = new RecentMap<string, Talk>(MOST_GROUPS);
  readonly #heard = new RecentMap<string, InboundDraft | string>(MOST_HEARD);
  /** When other bots began turns in the last hour. */
  #botTurns: readonly number[] = [];

  constructor(options: GroupOptions) {
    this.#options = options;
  }

  /**
   * Takes a group message. Returns it with the messages before it as context, if the assistant has to answer it; else why it
   * has not, as the end of a sentence. A message that the platform sends again gets the same result.
   */
  hear(draft: InboundDraft, isMeant: boolean): InboundDraft | string {
    const key = JSON.stringify([draft.chatId, draft.externalId]);
    const known = this.#heard.get(key);
    if (known !== undefined) return known;
    const taken = this.#hear(draft, isMeant);
    this.#heard.set(key, taken);
    return taken;
  }

  #hear(draft: InboundDraft, isMeant: boolean): InboundDraft | string {
    const talk = this.#talkIn(draft);
    const key = albumOf(draft);
    const album = key !== undefined && talk.album?.key === key ? talk.album : undefined;
    const mentioned = isMeant || album?.isMeant === true || this.#continues(talk, draft);
    const isAsked = mentioned || this.#options.policy === 'open';
    if (!isAsked || !this.#mayBegin(draft)) {
      talk.context = [...talk.context, contextOf(draft)].slice(-MOST_CONTEXT);
      talk.voices = [...talk.voices, ...voicesOf(draft)].slice(-MOST_VOICES);
      if (key !== undefined) talk.album = { key, parts: [...(album?.parts ?? []), draft], isMeant: false };
      return isAsked ? TOO_MANY_BOTS : NOT_ADDRESSED;
    }
    const { receivedAt } = draft;
    const oldest = receivedAt - this.#options.contextMinutes * 60_000;
    const context = talk.context.filter(({ at }) => at >= oldest);
    const voices = talk.voices.filter(({ at }) => at >= oldest).map(({ file }) => file);
    talk.context = [];
    talk.voices = [];
    if (key !== undefined) talk.album = { key, parts: [], isMeant: mentioned };
    if (mentioned) talk.partner = { id: draft.sender.id, until: this.#until(receivedAt) };
    const own = [...(album?.parts ?? []).flatMap((part) => part.media), ...draft.media];
    const media = [...own, ...voices.filter(({ source }) => !own.some((file) => file.source === source))];
    return { ...draft, mentioned, media, context: [...context, ...draft.context] };
  }

  /** Call it when an answer was sent to a group: its person needs no mention for a while. */
  answered(place: Place, at: number): void {
    const talk = this.#talks.get(keyOf(place));
    if (talk?.partner !== undefined) talk.partner = { id: talk.partner.id, until: this.#until(at) };
  }

  #talkIn(place: Place): Talk {
    const key = keyOf(place);
    const talk = this.#talks.get(key) ?? { context: [], voices: [], partner: undefined, album: undefined };
    this.#talks.set(key, talk);
    return talk;
  }

  #continues({ partner }: Talk, { sender, receivedAt }: InboundDraft): boolean {
    if (sender.isBot || partner?.id !== sender.id) return false;
    // Earlier than this only if the clock was put back.
    const earliest = partner.until - 2 * this.#options.followUpSeconds * 1_000;
    return receivedAt >= earliest && receivedAt <= partner.until;
  }

  #until(at: number): number {
    return at + this.#options.followUpSeconds * 1_000;
  }

  /** Whether the sender may begin a turn: other bots only `botTurnsPerHour`, so that two bots cannot talk without end. */
  #mayBegin({ sender, receivedAt }: InboundDraft): boolean {
    if (!sender.isBot) return true;
    this.#botTurns = this.#botTurns.filter((at) => at > receivedAt - HOUR_MS && at <= receivedAt);
    if (this.#botTurns.length >= this.#options.botTurnsPerHour) return false;
    this.#botTurns = [...this.#botTurns, receivedAt];
    return true;
  }
}

/** The album that a message is a part of, as its sender's. */
function albumOf({ metadata, sender }: InboundDraft): string | undefined {
  return typeof metadata['album'] === 'string' ? JSON.stringify([sender.id, metadata['album']]) : undefined;
}

function voicesOf({ sender, media, receivedAt }: InboundDraft): Talk['voices'] {
  return media
    .filter(({ speech }) => speech === true)
    .map((file) => ({ at: receivedAt, file: { ...file, quotedFrom: nameOf(sender) } }));
}

function nameOf({ name, username, id }: InboundDraft['sender']): string {
  return name ?? username ?? id;
}

/** A group message as context: its text and the names of its files, without quotes. */
function contextOf({ sender, text, receivedAt, role, untrusted, media, shared }: InboundDraft): ContextMessage {
  const isOwners = role === 'owner' && !untrusted && media.length === 0 && shared === undefined;
  const files = media.map(({ kind, name }) => (name === undefined ? `[${kind}]` : `[${kind} ${name}]`));
  return {
    senderName: nameOf(sender),
    text: cut([text, shared ?? '', ...files].filter((part) => part !== '').join('\n'), LONGEST_CONTEXT),
    at: receivedAt,
    ...(isOwners ? { isOwners } : {}),
  };
}

function keyOf({ chatId, threadId }: Place): string {
  return JSON.stringify([chatId, threadId]);
}
