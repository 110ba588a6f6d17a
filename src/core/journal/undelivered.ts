import { ONLY_TO, type OutboundMessage } from '../bus/messages.ts';
import { assistantCommand } from '../util/assistant-command.ts';
import { oneLine, plural } from '../util/text.ts';
import { parseOutbound, JournalStore } from './rows.ts';

/** A notice about lost messages expires after this time. */
const NOTICE_TTL_MS = 24 * 3_600_000;
/** Characters of a lost message that a notice quotes. */
const QUOTED = 200;
/** A notice names at most this many chats and counts the rest. */
const MOST_CHATS = 5;
/** Gets no notices: a terminal is read only while it is open. */
const TERMINAL = 'terminal';

/** Values of `outbound.owed`: a person still has to be told that the message did not arrive. 0: nothing to tell. */
const OWED = {
  /** Tell it in any chat. */
  untold: 1,
  /** A notice about it was lost too: tell it only in its own chat, so that notices about notices cannot go on without end. */
  inItsChat: 2,
} as const;

/**
 * SQL: messages of a turn or job, whose loss is reported. The loss of questions and other notices is not, nor of what one
 * person alone may see.
 */
const IS_OWED = `(json_extract(payload, '$.metadata.${ONLY_TO}') IS NULL AND (kind IN ('answer', 'part')
  OR (kind = 'notice' AND (turn_id IS NOT NULL OR json_extract(payload, '$.metadata.job') IS NOT NULL))))`;

/** Part of an UPDATE that ends rows of `outbound` without success. */
export const SET_OWED = `owed = CASE WHEN ${IS_OWED} THEN ${OWED.untold} ELSE 0 END`;

/** Why a message ends without success. `refused`: the part that the platform certainly did not take. */
export interface DeliveryFailure {
  /** Messages that are sent in its place. @default none */
  readonly instead?: readonly OutboundMessage[];
  readonly reason: string;
  readonly refused?: { readonly id: string; readonly n: number };
}

/** Another chat for a notice. */
export interface OtherWay {
  readonly channel: string;
  readonly chatId: string;
}

/** A message that ended without being delivered. */
interface Lost {
  readonly id: string;
  readonly message: OutboundMessage;
  readonly reason: string;
  /** How much of it arrived. */
  readonly seen: 'nothing' | 'some parts' | 'unknown';
}

/** SQL: a part may have arrived, by its marks, or because a power loss may have undone its marks. */
const MAY_HAVE_ARRIVED = `(doubt IS NOT NULL OR EXISTS (SELECT 1 FROM parts
  WHERE outbound_id = outbound.id AND (parts.state IN ('sending', 'uncertain') OR resends > 0)))`;

const SOME_ARRIVED = `EXISTS (SELECT 1 FROM parts WHERE outbound_id = outbound.id AND parts.state = 'delivered')`;

const IN_ITS_CHAT = {
  nothing: { fate: 'did not reach you', next: 'If you still need it, ask me again.' },
  'some parts': { fate: 'reached you only in part', next: 'If you still need the rest, ask me again.' },
  unknown: { fate: 'may not have reached you', next: 'If you do not see it, ask me again.' },
} as const;

const ELSEWHERE = {
  nothing: 'did not arrive',
  'some parts': 'arrived only in part',
  unknown: 'may not have arrived',
} as const;

/**
 * Keeps track of messages that ended without arriving until a person was told of them. Every method runs within a transaction
 * of the caller.
 */
export class Undelivered extends JournalStore {
  /** The notice to send in front of the next answer in a chat or thread; undefined when nothing was lost there. */
  before(next: Pick<OutboundMessage, 'channel' | 'chatId' | 'threadId' | 'kind'>): OutboundMessage | undefined {
    if (next.kind !== 'answer' && next.kind !== 'part') return undefined;
    const { channel, chatId, threadId = '' } = next;
    const isHere = "channel = ? AND chat = ? AND coalesce(json_extract(payload, '$.threadId'), '') = ? AND owed > 0";
    const lost = this.#owed(isHere, channel, chatId, threadId);
    const last = lost.at(-1);
    if (last === undefined) return undefined;
    const many = lost.length > 1;
    const what = many
      ? `${lost.length} earlier messages here ${isAllLost(lost) ? 'did not reach you' : 'may not all have reached you'}, the last one because`
      : `An earlier message here ${IN_ITS_CHAT[last.seen].fate}`;
    const text = `${what}: ${clause(last.reason)}.${quote(last)} ${IN_ITS_CHAT[last.seen].next}`;
    return this.#notice(text, next, lost);
  }

  /** Notices to owners, in direct chats or threads other than those where messages were lost, on the channels that are `running`. */
  elsewhere(running: readonly string[]): readonly OutboundMessage[] {
    const byPlace = new Map<string, { readonly to: OtherWay; readonly lost: Lost[] }>();
    const channels = running.filter((name) => name !== TERMINAL);
    for (const one of this.#owed(`owed > 0 AND owed = ${OWED.untold}`)) {
      const to = this.#otherWay(one.message, channels);
      if (to === undefined) continue;
      const key = JSON.stringify([to.channel, to.chatId]);
      const place = byPlace.get(key) ?? { to, lost: [] };
      place.lost.push(one);
      byPlace.set(key, place);
    }
    return [...byPlace.values()].map(({ to, lost }) => this.#notice(sentenceElsewhere(lost), to, lost));
  }

  /** Whether `elsewhere` may have notices. */
  get hasUnreported(): boolean {
    return this.journal.db.get(`SELECT 1 FROM outbound WHERE owed > 0 AND owed = ${OWED.untold} LIMIT 1`) !== undefined;
  }

  /** Marks the part that the platform refused, so that it does not count as possibly arrived. */
  refused({ refused }: DeliveryFailure): void {
    if (refused === undefined) return;
    this.journal.db.run("UPDATE parts SET state = 'dead' WHERE outbound_id = ? AND n = ?", refused.id, refused.n);
  }

  /** Call it when a message ended without success. If it was a notice, the messages it names are reported in their own chats. */
  ended(id: string): void {
    this.journal.db.run(`UPDATE outbound SET owed = ${OWED.inItsChat}, told_by = NULL WHERE told_by = ?`, id);
  }

  #owed(where: string, ...values: string[]): readonly Lost[] {
    return this.journal.db
      .all(
        `SELECT id, payload, reason, ${MAY_HAVE_ARRIVED} AS maybe, ${SOME_ARRIVED} AS some FROM outbound
         WHERE ${where} AND payload IS NOT NULL ORDER BY seq`,
        ...values,
      )
      .map((row) => ({
        id: row.text('id'),
        message: parseOutbound(row.text('payload')),
        reason: row.textOrNull('reason') ?? 'it could not be sent',
        seen: row.number('maybe') === 1 ? 'unknown' : row.number('some') === 1 ? 'some parts' : 'nothing',
      }));
  }

  /** A direct chat of an owner: the newest one on the first running channel that has one. It is another chat, unless a thread was lost. */
  #otherWay({ channel, chatId, threadId }: OutboundMessage, running: readonly string[]): OtherWay | undefined {
    // A message for a terminal that was closed: the next answer there tells of it.
    if (channel === TERMINAL) return undefined;
    for (const name of running) {
      const found = this.journal.db.get(
        `SELECT chat FROM owner_chats WHERE channel = ? AND direct = 1 AND NOT (channel = ? AND chat = ?)
         ORDER BY seq DESC LIMIT 1`,
        name,
        channel,
        threadId === undefined ? chatId : '',
      );
      if (found !== undefined) return { channel: name, chatId: found.text('chat') };
    }
    return undefined;
  }

  #notice(text: string, to: OtherWay & { readonly threadId?: string }, lost: readonly Lost[]): OutboundMessage {
    const { db, clock, newId } = this.journal;
    const id = `undelivered:${newId()}`;
    for (const one of lost) db.run('UPDATE outbound SET owed = 0, told_by = ? WHERE id = ?', id, one.id);
    return {
      id,
      channel: to.channel,
      chatId: to.chatId,
      ...(to.threadId === undefined ? {} : { threadId: to.threadId }),
      kind: 'notice',
      text,
      media: [],
      expiresAt: clock.now() + NOTICE_TTL_MS,
      metadata: {},
    };
  }
}

function sentenceElsewhere(lost: readonly Lost[]): string {
  const chats = [...new Set(lost.map(({ message }) => `${message.channel} (chat ${message.chatId})`))];
  const named = chats.slice(0, MOST_CHATS).join(', ');
  const rest = chats.length > MOST_CHATS ? ` and ${plural(chats.length - MOST_CHATS, 'other chat')}` : '';
  const [first] = lost;
  const what = lost.length === 1 ? 'A message' : plural(lost.length, 'message');
  const fate =
    lost.length === 1 && first !== undefined
      ? ELSEWHERE[first.seen]
      : isAllLost(lost)
        ? 'did not arrive'
        : 'may not all have arrived';
  const because = first === undefined ? '' : `: ${clause(first.reason)}.${quote(first)}`;
  return `${what} for ${named}${rest} ${fate}${because} See \`${assistantCommand('status')}\` for the state of the channels.`;
}

function isAllLost(lost: readonly Lost[]): boolean {
  return lost.every(({ seen }) => seen === 'nothing');
}

function clause(reason: string): string {
  return oneLine(reason, QUOTED).replace(/[.!\s]+$/u, '');
}

function quote({ message }: Lost): string {
  const text = oneLine(message.text, QUOTED);
  return text === '' ? '' : ` It began: “${text}”.`;
}
