import type { Usage } from '../util/token-usage.ts';

/** What passes between the modules. Plain data: each shape can be written to disk as JSON and read back. */

/** What a sender may do; compared by `roleRank` in security/access/access.ts. */
export type Role = 'owner' | 'trusted' | 'guest';

/** What a pairing code may make of somebody. */
export type PairedRole = Exclude<Role, 'guest'>;

/** Who started the turn that a message asks for. */
export type Origin = 'user' | 'cron' | 'heartbeat' | 'subagent' | 'api' | 'hook' | 'system';

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
  /** Absolute path on this machine; empty until it was fetched from its `source`. */
  readonly path: string;
  /** What its platform knows it by. @default it is on this machine */
  readonly source?: string;
  /** It was spoken, to be turned into text. @default false */
  readonly speech?: boolean;
  readonly name?: string;
  /** Bytes. */
  readonly size?: number;
}

/** The message that a message answers. */
export interface ReplyReference {
  readonly externalId: string;
  readonly senderName?: string;
  readonly text?: string;
  /** Who wrote it. @default 'other' */
  readonly author?: 'sender' | 'assistant' | 'other';
}

/** A group message that was not addressed to the assistant and came before one that was. */
export interface ContextMessage {
  /** An owner wrote it, in words of their own. @default others did */
  readonly isOwners?: boolean;
  readonly senderName: string;
  readonly text: string;
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
  readonly origin: Origin;
  /** The text was written by somebody who is not trusted (forward, webhook, stranger). */
  readonly untrusted: boolean;
  /** A pressed button. */
  readonly action?: { readonly id: string; readonly value: string };
  /** What an edit makes of an earlier message: it takes that one's place as long as no turn has it. */
  readonly edits?: { readonly externalId: string; readonly text: string };
  /** `burst` (`split`, `album` or `forward`): more pieces of the same are likely to follow at once. */
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** What a channel or another source hands in; the bus mints `id` and derives `sessionKey` where it is missing. */
export type InboundDraft = Omit<InboundMessage, 'id' | 'sessionKey'> & { readonly sessionKey?: string };

/** What became of a message at the door. A duplicate was accepted before; a refused one gets a notice or a recorded reason. */
export type AcceptResult = 'accepted' | 'duplicate' | 'refused';

/** How far a place of a platform was read: what is newer is fetched after the next start. */
export interface Cursor {
  /** The channel instance. */
  readonly channel: string;
  readonly place: string;
  /** The platform's id of the newest message that was read there. */
  readonly last: string;
}

/** What a button's id begins with whose press says the words behind it. */
export const SAY_BUTTON = 'say:';

export interface Button {
  readonly id: string;
  readonly label: string;
}

/** A message to a chat. Durable: it goes through the outbox. */
export interface OutboundMessage {
  /** `<turnId>:<n>` for what a turn says, else a ULID; the primary key of the outbox. */
  readonly id: string;
  readonly channel: string;
  readonly chatId: string;
  readonly threadId?: string;
  readonly kind: 'answer' | 'part' | 'notice' | 'approval';
  /** Markdown. */
  readonly text: string;
  /** Platform id of the message it answers, where the platform shows that. */
  readonly replyTo?: string;
  readonly media: readonly Media[];
  readonly buttons?: readonly (readonly Button[])[];
  readonly turnId?: string;
  /** Milliseconds since 1970; after it the message is not sent any more. */
  readonly expiresAt?: number;
  readonly metadata: Readonly<Record<string, unknown>>;
}

interface LiveBase {
  readonly channel: string;
  readonly chatId: string;
  readonly threadId?: string;
  readonly sessionKey: string;
  readonly turnId: string;
  /** Grows within a turn; a reader drops what is older than what it has shown. */
  readonly sequence: number;
}

/** What is going on right now: cumulative, latest-wins, never stored. */
export type OutboundEvent = LiveBase &
  (
    | { readonly type: 'text'; /** The answer so far. */ readonly text: string }
    | { readonly type: 'reasoning'; readonly text: string }
    | { readonly type: 'tool-start'; readonly callId: string; readonly name: string; readonly title: string }
    | {
        readonly type: 'tool-end';
        readonly callId: string;
        readonly name: string;
        readonly title: string;
        readonly isError: boolean;
        /** Why rules or a person did not let it run. */
        readonly refused?: string;
      }
    | { readonly type: 'status'; readonly text: string }
    | { readonly type: 'typing' }
    | {
        readonly type: 'turn-end';
        readonly result: TurnSummary;
        /** External ids of the messages that the turn answered. */
        readonly answers: readonly string[];
      }
  );

/** How a turn ended, for the one who waits for it. */
export interface TurnSummary {
  readonly outcome: TurnOutcome;
  /** What the person is shown: the answer, or the sentence that says what went wrong. */
  readonly text: string;
  readonly isError: boolean;
  readonly model: string | null;
  readonly usage: Usage;
  /** Null when the price of the model is unknown. */
  readonly costUsd: number | null;
  readonly durationMs: number;
}

/** `answered`: the model answered; `failed`: it could not, and a sentence says why; `stopped`: by /stop; `silent`: by decision. */
export type TurnOutcome = 'answered' | 'failed' | 'stopped' | 'silent' | 'command';

/** `channel:chatId[:threadId]`, as tools, settings and people name a chat; each part has its colons and percent signs escaped, so keys never collide. */
export function sessionKeyOf(message: { channel: string; chatId: string; threadId?: string }): string {
  const parts = [message.channel, message.chatId];
  if (message.threadId !== undefined) parts.push(message.threadId);
  return parts.map((part) => part.replaceAll('%', '%25').replaceAll(':', '%3A')).join(':');
}

/** The chat that such a name stands for; undefined where it is none. */
export function parseChat(
  text: string,
): { readonly channel: string; readonly chatId: string; readonly threadId?: string } | undefined {
  const parts = text.split(':').map((part) => part.replaceAll('%3A', ':').replaceAll('%25', '%'));
  const [channel = '', chatId = '', threadId] = parts;
  if (channel === '' || chatId === '' || parts.length > 3 || threadId === '') return undefined;
  return { channel, chatId, ...(threadId === undefined ? {} : { threadId }) };
}
