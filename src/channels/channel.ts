import { withCommandPrefix } from '../bus/commands.ts';
import type { AcceptResult, Button, InboundDraft, Media, OutboundMessage, PairedRole } from '../bus/messages.ts';
import type { Clock } from '../util/clock.ts';
import type { Logger } from '../util/log.ts';
import type { InboundWriter, ReadUpTo } from './inbound/writer.ts';

export type { ReadUpTo };

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
  /** An earlier attempt may have arrived. */
  readonly resend?: Resend;
}

/** What is known of a part that may have arrived. */
export interface Resend {
  /** It was not tried before; ms since 1970. */
  readonly since: number;
  /** Whether a message of the platform is known to be another one. */
  readonly isKnown: (platformId: string) => boolean;
}

/** An unknown person who wrote in a direct chat. What they wrote is nobody's business. */
export interface Stranger {
  readonly senderId: string;
  readonly name?: string | undefined;
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
   * Writes messages down, and how far places were read, all in one transaction; resolves after the commit. Only then may the platform be told.
   * Rejects when nothing could be written (disk full): tell the platform nothing and try again.
   */
  accept(messages: readonly InboundDraft[], cursors?: readonly ReadUpTo[]): Promise<readonly AcceptResult[]>;
  /**
   * The same until it works, for what a platform would not bring again: waits for the disk, and sets aside the one update
   * that can never be read or written. Rejects only when its signal ends the waiting.
   */
  readonly write: InboundWriter['write'];
  /** Tells the owner something of this channel, once for each id. Never rejects. */
  tellOwner(id: string, text: string): Promise<void>;
  /** How far each place was read by earlier runs of this channel, by place, as `accept` was told. */
  cursors(): ReadonlyMap<string, string>;
  /** The role that a pairing code gave somebody; undefined: none. For `decideAccess`, at each message. */
  readonly pairedRole: (senderId: string) => PairedRole | undefined;
  /** The same as yes or no. */
  readonly isPaired: (senderId: string) => boolean;
  /** Ids of the people whom a code made owners. */
  readonly pairedOwners: () => readonly string[];
  /** When somebody was last heard here, by an earlier process too, ms since 1970; undefined: nobody ever was. */
  heardUntil(): number | undefined;
  /** May send a pairing code, by rules that no stranger can use to flood anybody. Never rejects. */
  knock(stranger: Stranger): Promise<void>;
  /** This chat can be reached now: what waits for it is tried at once. */
  wake(chatId: string): void;
  /** The running channel cannot go on by itself: it is disposed and, unless the error says otherwise, started again. */
  fail(error: ChannelError): void;
  /** What the platform may show as a menu. */
  readonly commands: readonly MenuCommand[];
  readonly clock: Clock;
  readonly log: Logger;
}

export type ChannelState = 'starting' | 'running' | 'reconnecting' | 'stopped' | 'failed';

export interface ChannelHealth {
  readonly state: ChannelState;
  /** One sentence about what is wrong, when something is. */
  readonly detail?: string;
  /** When the platform was last heard, ms since 1970. */
  readonly lastInboundAt?: number;
  /** A running channel that hears nothing of its platform for so long is started again. @default it may be quiet for ever */
  readonly quietMs?: number;
}

/** A chat platform. `delivery.ts` owns order, splitting, retries and limits; a channel only talks to its platform. */
export interface Channel {
  /** The key in `config.channels`. */
  readonly name: string;
  readonly kind: string;
  readonly capabilities: ChannelCapabilities;
  /** Connects; resolves when messages flow. Throws a `ChannelError` when it cannot. Disposing disconnects. */
  start(context: ChannelContext, signal: AbortSignal): Promise<AsyncDisposable>;
  /** What stands before a command's name where a person gives it: `/assistant ` for `/assistant retry`. @default '/' */
  readonly commandPrefix?: string;
  /** Markdown → the platform's own markup, split into parts that each fit. Pure; never empty for non-blank text. */
  render(markdown: string): readonly string[];
  /**
   * The text as it is, its Markdown unread: escaped and split into parts that each fit. For what `render` fails at, so it
   * shares no code with it. Pure; never empty for non-blank text.
   */
  plain(text: string): readonly string[];
  /** Sends one part. Throws a `SendError` on failure. */
  send(part: OutgoingPart, signal: AbortSignal): Promise<{ readonly platformId: string }>;
  edit?(part: OutgoingPart & { readonly platformId: string }, signal: AbortSignal): Promise<void>;
  /**
   * Shows an answer while it is written as something that leaves no message and is gone by itself half a minute after
   * the newest; parts with the same nonce are one. False: not in this chat. Throws a `SendError`.
   */
  draft?(part: OutgoingPart, signal: AbortSignal): Promise<boolean>;
  /** Shows "typing" for a few seconds; delivery repeats it. Failures are ignored. */
  typing?(chat: { readonly chatId: string; readonly threadId?: string }, signal: AbortSignal): Promise<void>;
  /** It finds out by itself whether a `resend` is there already; else delivery marks what may be there twice. */
  readonly settlesResends?: boolean;
  react?(target: { readonly chatId: string; readonly platformId: string }, emoji: string): Promise<void>;
  /** Gets a file that came with a message, by its `source`. Throws a `SendError`; one that is larger is permanent. */
  download?(source: string, limits: { readonly maxBytes: number }, signal: AbortSignal): Promise<Uint8Array>;
  health(): ChannelHealth;
}

/** The parts of a message as its channel will send them; in the program's own words commands stand as they are given there. */
export function partsOf(
  channel: Pick<Channel, 'render' | 'plain' | 'commandPrefix'>,
  { kind, text, metadata }: Pick<OutboundMessage, 'kind' | 'text' | 'metadata'>,
): readonly string[] {
  const isOwn = kind === 'notice' || kind === 'approval' || metadata['own'] === true;
  const words = isOwn ? withCommandPrefix(text, channel.commandPrefix ?? '/') : text;
  return metadata['plain'] === true ? channel.plain(words) : channel.render(words);
}

/**
 * How a send failed. `retryable`: the platform certainly does not have it; `uncertain`: it may have it;
 * `permanent`: it will never take it; `blocked`: this chat takes nothing any more; `revoked`: this channel's credentials
 * are gone. Unknown failures are uncertain.
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
 * A channel could not start or go on. `retry: false`: a person has to change something first; `seldom`: most likely so,
 * but the platform was wrong about it before.
 */
export class ChannelError extends Error {
  readonly retry: boolean | 'seldom';

  constructor(message: string, options: { retry: boolean | 'seldom'; cause?: unknown }) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'ChannelError';
    this.retry = options.retry;
  }
}
