import * as z from 'zod';
import { withCommandPrefix } from '../bus/commands.ts';
import type { AcceptResult, Button, InboundDraft, Media, OutboundMessage, PairedRole } from '../bus/messages.ts';
import type { ReactionDraft, StateReactions } from '../bus/reactions.ts';
import type { Clock } from '../util/clock.ts';
import type { Logger } from '../util/log.ts';
import type { Permit } from '../util/permit.ts';
import type { PassedOver } from '../journal/channel-log.ts';
import type { ReadUpTo, Received, WriteOptions } from './inbound/writer.ts';

export type { PassedOver, ReactionDraft, ReadUpTo, StateReactions };

export interface ChannelCapabilities {
  /** UTF-16 units of visible text in one message. */
  readonly maxLength: number;
  readonly edit: boolean;
  readonly typing: boolean;
  readonly buttons: boolean;
  readonly threads: boolean;
  readonly media: boolean;
  readonly reactions: boolean;
  readonly drafts: boolean;
}

/** One message as the platform gets it: already rendered and short enough. */
export interface OutgoingPart {
  /** The outbound message that this is a part of. */
  readonly messageId: string;
  readonly kind: OutboundMessage['kind'];
  readonly turnId?: string;
  /** What sent the message by itself; see `FROM`. */
  readonly from?: string;
  /** It may be shown to one person alone; see `ONLY_TO`. A channel that cannot do so throws a permanent `SendError`. */
  readonly onlyTo?: string;
  readonly chatId: string;
  readonly threadId?: string;
  /** Rendered by the channel's own `render`. */
  readonly text: string;
  readonly replyTo?: string;
  readonly media: readonly Media[];
  readonly buttons?: readonly (readonly Button[])[];
  /** At most 25 characters, the same for each attempt at this part; for platforms that de-duplicate. */
  readonly nonce: string;
  readonly silent?: boolean;
  /** Set when an earlier attempt may have arrived. @default this is the first attempt */
  readonly resend?: Resend;
}

/** How a channel can find out whether an earlier attempt of a part arrived. */
export interface Resend {
  /** The first attempt was not before this time; ms since 1970. */
  readonly since: number;
  /** True when this message of the platform belongs to another part, so it is not the one looked for. */
  readonly isKnown: (platformId: string) => boolean;
}

/** A message of a person. */
export interface ReactionTarget {
  readonly chatId: string;
  readonly threadId?: string;
  readonly platformId: string;
}

/** What becomes of the assistant's own reactions on a message; emoji as in `StateReactions`. */
export interface ReactionChange {
  /** @default none is set */
  readonly add?: string;
  readonly remove: readonly string[];
}

/** An unknown person who wrote in a direct chat. Their text is neither read nor kept. */
export interface Stranger {
  readonly senderId: string;
  readonly name?: string;
  readonly chatId: string;
}

/** A command that people may send, for the platform's own menu. */
export interface MenuCommand {
  readonly name: string;
  readonly description: string;
  /** Only owners are shown it. */
  readonly isOwners: boolean;
}

export interface ChannelContext {
  /**
   * Writes messages and read cursors to the journal in one transaction. Resolves after the commit; only then may they
   * be acknowledged to the platform. Rejects when nothing was written (disk full): do not acknowledge, try again.
   */
  accept(messages: readonly InboundDraft[], cursors?: readonly ReadUpTo[]): Promise<readonly AcceptResult[]>;
  /**
   * As `accept`, but retries until it succeeds, for messages that the platform sends only once. Waits for the disk, and
   * moves an update that can never be read or written to the quarantine. Rejects when its signal aborts or `mayWait` is
   * false.
   */
  readonly write: (received: readonly Received[], options: WriteOptions) => Promise<void>;
  /**
   * Keeps people's reactions to messages of the assistant; others are ignored. Only of people who may write here. Waits for
   * the disk. Rejects only when the signal aborts.
   */
  reacted(reactions: readonly ReactionDraft[], signal: AbortSignal): Promise<void>;
  /** Sends the owner a notice about this channel, once for each id. Never rejects. */
  tellOwner(id: string, text: string): Promise<void>;
  /**
   * The cursors that `accept` and `write` stored, also in earlier processes: place → platform id of the newest message
   * read.
   */
  cursors(): ReadonlyMap<string, string>;
  /**
   * The role that a person got by a pairing code; undefined: none. Asked at each message, for `decideAccess`. Name the chat: each
   * assistant of a shared channel pairs for its own chats.
   */
  readonly pairedRole: (senderId: string, chatId?: string) => PairedRole | undefined;
  /** Whether this person was paired as trusted or as an owner. False for a guest, who must not be taken for a trusted person. */
  readonly isPaired: (senderId: string, chatId?: string) => boolean;
  /** Platform ids of the people who became owners by a pairing code. */
  readonly pairedOwners: () => readonly string[];
  /**
   * When a person's message last came in on this channel, also in an earlier process; ms since 1970. Undefined: never.
   */
  heardUntil(): number | undefined;
  /** When this process first tried to connect, ms since 1970. */
  readonly openedAt?: number;
  /** When this home was restored from a backup, ms since 1970. @default it was not */
  readonly restoredAt?: number;
  /** Sends an unknown person a pairing code, unless the limits of codes are reached. Never rejects. */
  requestPairing(stranger: Stranger): Promise<void>;
  /** Records why a message of the platform is not taken, for those who ask. Never rejects. */
  passOver(message: PassedOver): void;
  /**
   * Waits for an assistant of this channel that is just starting, so that what is read next is read with its people. Rejects when
   * `signal` aborts. @default there is nothing to wait for
   */
  readonly settled?: (signal: AbortSignal) => Promise<void>;
  /** Says that this chat can be reached again: messages that wait for it are sent at once. */
  wake(chatId: string): void;
  /**
   * Says that the running channel cannot recover by itself. It is disposed of, then started again as `error.retry`
   * says.
   */
  fail(error: ChannelError): void;
  /** The commands for the platform's own menu. */
  readonly commands: readonly MenuCommand[];
  /**
   * Asked right before each request to the platform: a request of a process that lost its home must not go out, nor may it acknowledge
   * what it has not kept. @default always permitted
   */
  readonly permit?: Permit;
  readonly clock: Clock;
  readonly log: Logger;
}

export const channelHealth = z.object({
  state: z.enum(['starting', 'running', 'reconnecting', 'stopped', 'failed']),
  /** One sentence about what is wrong, when something is. */
  detail: z.string().exactOptional(),
  /** `conflict`: another program reads the messages of the same bot. @default nothing that has a name */
  code: z.enum(['conflict']).exactOptional(),
  /** When anything last came from the platform (a message, a heartbeat of the connection), ms since 1970. */
  lastInboundAt: z.number().exactOptional(),
  /** A running channel that receives nothing from its platform for this time is started again. @default no limit */
  quietMs: z.number().exactOptional(),
});
export type ChannelState = z.output<typeof channelHealth>['state'];
export type ChannelHealth = Readonly<z.output<typeof channelHealth>>;

/**
 * A connection to one chat platform. `delivery.ts` does order, splitting, retries and rate limits; a channel only talks
 * to its platform. The built-in platforms implement `Platform` (`platform.ts`), of which `PlatformChannel` makes a
 * channel.
 */
export interface Channel {
  /** The key in `config.channels`. */
  readonly name: string;
  readonly kind: string;
  readonly capabilities: ChannelCapabilities;
  /** Connects; resolves when messages flow. Throws a `ChannelError` when it cannot. Disposing disconnects. */
  start(context: ChannelContext, signal: AbortSignal): Promise<AsyncDisposable>;
  /**
   * The text before a command's name as people type it on this platform, such as `/assistant ` for `/assistant retry`.
   * @default '/'
   */
  readonly commandPrefix?: string;
  /** Markdown → the platform's own markup, split into parts that each fit. Pure; never empty for non-blank text. */
  render(markdown: string): readonly string[];
  /**
   * Shows the text literally, Markdown signs included: escaped and split into parts that each fit. Used when `render`
   * throws, so the two share no code. Pure; never empty for non-blank text.
   */
  plain(text: string): readonly string[];
  /** Sends one part. Throws a `SendError` on failure. */
  send(part: OutgoingPart, signal: AbortSignal): Promise<{ readonly platformId: string }>;
  edit?(part: OutgoingPart & { readonly platformId: string }, signal: AbortSignal): Promise<void>;
  /**
   * Shows an unfinished answer as a draft of the platform, which leaves no message and disappears about 30 seconds
   * after the last call. Parts with the same nonce replace each other. False: this chat shows no drafts. Throws a
   * `SendError`.
   */
  draft?(part: OutgoingPart, signal: AbortSignal): Promise<boolean>;
  /** Shows "typing" for a few seconds; delivery repeats it. Failures are ignored. */
  typing?(chat: { readonly chatId: string; readonly threadId?: string }, signal: AbortSignal): Promise<void>;
  /**
   * `send` itself looks whether a `resend` arrived before. @default false: delivery marks the text as possibly sent
   * twice
   */
  readonly settlesResends?: boolean;
  /**
   * Which files in a row go as one message: groups in their order, each of at least one file. `send` gets a group as `media`; one that
   * the platform refuses is sent file by file. @default each file alone
   */
  album?(files: readonly Media[]): readonly (readonly Media[])[];
  /** Deadline of `send` without the time that its bytes take, ms. @default 30_000 */
  readonly sendDeadlineMs?: number;
  /** Changes the assistant's own reactions on a message. Resolves also when they are so already. Throws a `SendError`. */
  react?(target: ReactionTarget, change: ReactionChange, signal: AbortSignal): Promise<void>;
  /**
   * The reactions that show how far a person's message has come, where the configuration says no others, and whether they
   * are on without a setting. @default none
   */
  readonly stateReactions?: { readonly usual: StateReactions; readonly isOn: boolean };
  /**
   * Fetches a file of a message by its `source`. Throws a `SendError`, a permanent one when the file exceeds
   * `maxBytes`.
   */
  download?(source: string, limits: { readonly maxBytes: number }, signal: AbortSignal): Promise<Uint8Array>;
  health(): ChannelHealth;
}

/**
 * Renders a message into the parts that its channel sends. In texts of the program, commands get the channel's prefix.
 */
export function partsOf(
  channel: Pick<Channel, 'render' | 'plain' | 'commandPrefix'>,
  { kind, text, metadata }: Pick<OutboundMessage, 'kind' | 'text' | 'metadata'>,
): readonly string[] {
  const isOwn = kind === 'notice' || kind === 'approval' || metadata['own'] === true;
  const words = isOwn ? withCommandPrefix(text, channel.commandPrefix ?? '/') : text;
  return metadata['plain'] === true ? channel.plain(words) : channel.render(words);
}

/**
 * How a send failed. `retryable`: the platform certainly does not have the message. `uncertain`: it may have it.
 * `permanent`: it will never take this message. `blocked`: it takes no message for this chat. `revoked`: it refuses the
 * channel's credentials. Unknown failures are uncertain.
 */
export type SendFailure = 'retryable' | 'uncertain' | 'permanent' | 'blocked' | 'revoked';

export class SendError extends Error {
  readonly failure: SendFailure;
  readonly retryAfterMs: number | undefined;

  constructor(failure: SendFailure, message: string, options: { retryAfterMs?: number; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'SendError';
    this.failure = failure;
    this.retryAfterMs = options.retryAfterMs;
  }
}

/**
 * A channel could not start, or stopped working. `retry`: true: start it again with a backoff; false: do not, a person
 * has to change something first; `seldom`: probably a person has to, but try again at long intervals.
 */
export class ChannelError extends Error {
  readonly retry: boolean | 'seldom';

  constructor(message: string, options: { retry: boolean | 'seldom'; cause?: unknown }) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'ChannelError';
    this.retry = options.retry;
  }
}
