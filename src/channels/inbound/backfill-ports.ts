import type { Random } from '../../util/random.ts';
import type { ChannelContext, ReadUpTo } from '../channel.ts';
import type { Received } from './writer.ts';
import type { IdOrder } from './read-cursors.ts';

/** Something that a platform told of one place. */
export interface RawEvent<Data> {
  readonly type: 'message' | 'edit';
  /** Of the message. */
  readonly id: string;
  readonly data: Data;
  /** Fetched from the history. */
  readonly isLate: boolean;
}

/** Messages of a place that are newer than its cursor, oldest first. */
export interface Missed<Data> {
  readonly messages: readonly { readonly id: string; readonly data: Data }[];
  /** There are newer ones after these. */
  readonly hasMore: boolean;
  /** There are older ones that are not fetched. @default false */
  readonly isCut?: boolean;
}

/** How a question to the platform failed. */
export interface AskFailure {
  readonly reason: string;
  readonly retryAfterMs?: number | undefined;
  /** It will not be answered later either: the place is closed to the bot. */
  readonly isRefused: boolean;
}

export interface BackfillPorts<Data> {
  readonly ids: IdOrder;
  readonly missed: (place: string, after: string) => Promise<Missed<Data>>;
  /** What is to be answered of this, once for each; rejects before it has read any, when the platform cannot be asked. */
  readonly read: (place: string, events: readonly RawEvent<Data>[]) => Promise<readonly Received[]>;
  readonly failureOf: (error: unknown) => AskFailure;
  readonly context: Pick<ChannelContext, 'accept' | 'write' | 'clock' | 'log'>;
  /** What is read of the platform fails; undefined: all is well. */
  readonly report: (trouble: string | undefined) => void;
  /** In these places are messages that were not looked at: they are older or more than what is fetched. */
  readonly notLookedAt: (places: readonly string[]) => Promise<void>;
  /** From where a place is read that is heard of for the first time; undefined: from that message on. */
  readonly unreadSince?: () => string | undefined;
  /** Further cursors that are to be kept now. */
  readonly alsoKept?: () => readonly ReadUpTo[];
  readonly pace: Pace;
  readonly random: Random;
}

/** What a platform allows of questions for its history. */
export interface Pace {
  /** Places that are asked for at once, and how long each counts at least when more than `burst` are to be asked for. */
  readonly atOnce: number;
  readonly pauseMs: number;
  readonly burst: number;
  /** How long what comes live waits for what was missed. */
  readonly patienceMs: number;
}

export interface Waiting<Data> {
  readonly event: RawEvent<Data>;
  readonly written: PromiseWithResolvers<void>;
}

/** What is at work in one place. */
export interface Lane<Data> {
  waiting: Waiting<Data>[];
  working: Promise<void> | undefined;
  failures: number;
  /** When fetching what was missed failed first; undefined: it did not. */
  behindSince: number | undefined;
  /** No look into the history before; by `Clock.now`. */
  notBefore: number;
}
