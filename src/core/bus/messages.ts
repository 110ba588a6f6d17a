import type { Usage } from '../util/token-usage.ts';

/** What passes between the modules. Plain data: each shape can be written to disk as JSON and read back. */

/** What a sender may do; compared by `roleRank` in security/access/access.ts. */
export type Role = 'owner' | 'trusted' | 'guest';

/** The roles that a pairing code can give: `trusted`, unless the person who approves it says otherwise. */
export type PairedRole = Role;

export interface Sender {
  /** The platform's immutable id, as text. */
  readonly id: string;
  readonly name?: string;
  readonly username?: string;
  readonly isBot: boolean;
}

/** A file that came with a message or goes out with one. */
export interface Media {
  readonly kind: 'image' | 'audio' | 'video' | 'document';
  readonly mediaType: string;
  /** Absolute path on this machine; empty until the file is fetched from `source`. */
  readonly path: string;
  /** The platform's reference to the file (an id or a URL), for `Channel.download`. @default the file is on this machine */
  readonly source?: string;
  /** A voice message: one that came is transcribed, one that is sent is shown as such. @default false */
  readonly speech?: boolean;
  readonly name?: string;
  /** Whose message it is in, if this message only refers to it: a quoted one, or one said before. @default it came with this message */
  readonly quotedFrom?: string;
  /** Bytes. */
  readonly size?: number;
}

/** The earlier message that a message replies to. */
export interface ReplyReference {
  readonly externalId: string;
  readonly senderName?: string;
  readonly text?: string;
  /** Who wrote it. @default 'other' */
  readonly author?: 'sender' | 'assistant' | 'other';
  /** When it was sent, milliseconds since 1970. @default not known */
  readonly sentAt?: number;
}

/** A group message that was not addressed to the assistant and came before one that was. */
export interface ContextMessage {
  /** An owner wrote it; no forward and no attachment. @default false */
  readonly isOwners?: boolean;
  readonly senderName: string;
  readonly text: string;
  /** Milliseconds since 1970. */
  readonly at: number;
}

export interface InboundMessage {
  /** ULID, minted by the bus. */
  readonly id: string;
  /** The channel instance: its key in `config.channels`, or `terminal`, `api`, `cron`, … */
  readonly channel: string;
  /** The bot's own account on the platform. */
  readonly account: string;
  readonly chatId: string;
  readonly threadId?: string;
  readonly chatType: 'direct' | 'group';
  readonly sender: Sender;
  readonly role: Role;
  readonly text: string;
  readonly media: readonly Media[];
  readonly replyTo?: ReplyReference;
  /** Addressed to the assistant by name, mention or reply; always true in direct chats. */
  readonly mentioned: boolean;
  readonly context: readonly ContextMessage[];
  /** Milliseconds since 1970. */
  readonly receivedAt: number;
  /** `m:<message id>`, `e:<id>:<edit time>:<update id>`, `b:<interaction>`, `cron:…`, `call:…`, `hook:…`; UNIQUE with channel, account and chat. */
  readonly externalId: string;
  readonly sessionKey: string;
  /** The name of a row of `Program.origins`: who started the turn that the message asks for. */
  readonly origin: string;
  /** The text was written by somebody who is not trusted (forward, webhook, stranger). */
  readonly untrusted: boolean;
  /** Text of others that came with the sender's own `text`: a forward, a card, a poll. @default none */
  readonly shared?: string;
  /** A pressed button. */
  readonly action?: { readonly id: string; readonly value: string };
  /** This message is an edit: `text` replaces the text of the message `externalId` if no turn has taken that one yet. */
  readonly edits?: { readonly externalId: string; readonly text: string };
  /** `burst` (`split`, `album` or `forward`): more pieces of the same are likely to follow at once. `album`: the platform's name of the album. */
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** What a channel or another source hands in; the bus mints `id` and derives `sessionKey` where it is missing. */
export type InboundDraft = Omit<InboundMessage, 'id' | 'sessionKey'> & { readonly sessionKey?: string };

/** The result of accepting a message. `duplicate`: it was accepted before. `refused`: too many wait; the reason is recorded. */
export type AcceptResult = 'accepted' | 'duplicate' | 'refused';

/** How far a chat of a platform was read; newer messages are fetched after the next start. */
export interface Cursor {
  /** The channel instance. */
  readonly channel: string;
  /** A chat, or another key that the channel chose for what it reads. */
  readonly place: string;
  /** The platform's id of the newest message that was read there. */
  readonly last: string;
}

/** Prefix of a button's id: a press sends the rest of the id as a message of the person, commands included. */
export const SAY_BUTTON = 'say:';

/**
 * Key of a message's metadata: what sent it by itself, e.g. `the reminder tea`. Terminals show it. The answers to an inbound
 * message have the same.
 */
export const FROM = 'from';

/**
 * Key of a message's metadata: its reply is shown to nobody but the person who asked. The value is what the channel needs
 * for that, such as the id of the person.
 */
export const ONLY_TO = 'onlyTo';
/** Key of a message's metadata: how long its answers wait to be delivered, ms. @default 24 hours */
export const ANSWER_TTL = 'answerTtlMs';
/** Key of a message's metadata: true if it quotes or says something that untrusted text may have shaped. */
export const UNTRUSTED = 'untrusted';
/** Prefix of a text that was sent again although the platform may have the first copy. */
export const RESEND_MARK = '↻ ';

export interface Button {
  readonly id: string;
  readonly label: string;
}

/** A message to a chat. Durable: it goes through the outbox. */
export interface OutboundMessage {
  /** Primary key of the outbox: `<turnId>:<n>` for the answer of a turn, else a ULID or a key that is sent only once. */
  readonly id: string;
  readonly channel: string;
  readonly chatId: string;
  readonly threadId?: string;
  readonly kind: 'answer' | 'part' | 'notice' | 'approval';
  /** Markdown. */
  readonly text: string;
  /** Platform id of the message that it replies to. */
  readonly replyTo?: string;
  readonly media: readonly Media[];
  readonly buttons?: readonly (readonly Button[])[];
  readonly turnId?: string;
  /** Milliseconds since 1970. After this time the message is no longer sent. @default never expires */
  readonly expiresAt?: number;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** Where a live event belongs. */
export interface LiveBase {
  readonly channel: string;
  readonly chatId: string;
  readonly threadId?: string;
  readonly sessionKey: string;
  readonly turnId: string;
  /** Grows within a turn. A reader ignores events with a lower number than the newest one it has shown. */
  readonly sequence: number;
}

/** A live event of a running turn, for previews. Each replaces the one before; none is stored. */
export type OutboundEvent = LiveBase &
  (
    | { readonly type: 'text'; /** The answer so far. */ readonly text: string }
    | { readonly type: 'reasoning'; readonly text: string }
    | {
        readonly type: 'tool-start';
        readonly callId: string;
        readonly name: string;
        readonly title: string;
        /** The files that it names, as absolute paths. @default none */
        readonly files?: readonly string[];
      }
    | {
        readonly type: 'tool-end';
        readonly callId: string;
        readonly name: string;
        readonly title: string;
        readonly isError: boolean;
        /** Why the call was not run: the policy, a hook or a person refused it. */
        readonly refused?: string;
        /** Why it did not work, in one line; of a call that was run. */
        readonly problem?: string;
        /** The lines of files that it changed, for people; see `ToolResult.diff`. */
        readonly diff?: string;
      }
    | {
        readonly type: 'status';
        readonly text: string;
        /** It may last minutes, so people in chats should read it, too. @default false */
        readonly isLong?: boolean;
      }
    | { readonly type: 'typing' }
    | {
        readonly type: 'turn-end';
        readonly result: TurnSummary;
        /** External ids of the messages that the turn answered. */
        readonly answers: readonly string[];
      }
  );

/** How a turn ended, for a terminal or HTTP client that waits for it. */
export interface TurnSummary {
  readonly outcome: TurnOutcome;
  /** The answer, or the sentence that says what went wrong. */
  readonly text: string;
  readonly isError: boolean;
  /**
   * Why it is an error: a kind of `ModelErrorKind` (`aborted`: it was stopped; `timeout`: the turn's time limit too), `limit`
   * (a budget, the steps of a turn, the queue), `denied` (a plugin) or `other`; null for no error.
   */
  readonly errorKind: string | null;
  readonly model: string | null;
  readonly usage: Usage;
  /** Null when the price of the model is unknown. */
  readonly costUsd: number | null;
  readonly durationMs: number;
  /** Why the model stopped before it was done. @default it was done, or it is not known */
  readonly cut?: 'length' | 'refusal';
}

/**
 * `answered`: the model answered. `failed`: it could not; a sentence says why. `stopped`: a person ended the turn.
 * `silent`: the answer is not sent, because the model or the heartbeat decided so. `command`: a slash command.
 */
export type TurnOutcome = 'answered' | 'failed' | 'stopped' | 'silent' | 'command';

/** `channel:chatId[:threadId]`, the name of a chat in tools and settings. `:` and `%` inside a part become `%3A` and `%25`. */
export function sessionKeyOf(message: { channel: string; chatId: string; threadId?: string }): string {
  const parts = [message.channel, message.chatId];
  if (message.threadId !== undefined) parts.push(message.threadId);
  return parts.map((part) => part.replaceAll('%', '%25').replaceAll(':', '%3A')).join(':');
}

/** The reverse of `sessionKeyOf`; undefined when the text does not have that form. */
export function parseChat(
  text: string,
): { readonly channel: string; readonly chatId: string; readonly threadId?: string } | undefined {
  const parts = text.split(':').map((part) => part.replaceAll('%3A', ':').replaceAll('%25', '%'));
  const [channel = '', chatId = '', threadId] = parts;
  if (channel === '' || chatId === '' || parts.length > 3 || threadId === '') return undefined;
  return { channel, chatId, ...(threadId === undefined ? {} : { threadId }) };
}
