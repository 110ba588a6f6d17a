import type { Random } from '../../util/random.ts';
import type { ChannelContext, ReadUpTo } from '../channel.ts';
import type { Received } from './writer.ts';
import type { IdOrder } from './read-cursors.ts';

/** An event of one place (a chat or channel of the platform). */
export interface RawEvent<Data> {
  readonly type: 'message' | 'edit';
  /** Platform id of the message. */
  readonly id: string;
  readonly data: Data;
  /** It was fetched from the history, not received live. */
  readonly isLate: boolean;
}

/** Messages of a place that are newer than its cursor, oldest first. */
export interface Missed<Data> {
  readonly messages: readonly { readonly id: string; readonly data: Data }[];
  /** There are newer messages after these. */
  readonly hasMore: boolean;
  /** There are older messages that are not fetched. @default false */
  readonly isCut?: boolean;
}

/** How a request to the platform failed. */
export interface AskFailure {
  readonly reason: string;
  readonly retryAfterMs?: number;
  /** The bot has no access to the place, so a retry is useless. */
  readonly isRefused: boolean;
}

export interface BackfillPorts<Data> {
  readonly ids: IdOrder;
  readonly missed: (place: string, after: string) => Promise<Missed<Data>>;
  /** Reads events as messages for the assistant. Rejects, before it has read any, when a request to the platform that it needs fails. */
  readonly read: (place: string, events: readonly RawEvent<Data>[]) => Promise<readonly Received[]>;
  readonly failureOf: (error: unknown) => AskFailure;
  readonly context: Pick<ChannelContext, 'accept' | 'write' | 'clock' | 'log' | 'openedAt'>;
  /** Sets the present trouble with reading, one sentence; undefined clears it. */
  readonly report: (trouble: string | undefined) => void;
  /** Called with places that have messages which are not fetched, because they are too old or too many. */
  readonly notLookedAt: (places: readonly string[]) => Promise<void>;
  /** The id from which a new place is read; undefined: from its first event on. */
  readonly unreadSince?: () => string | undefined;
  /** Further cursors to store with those of the places. */
  readonly alsoKept?: () => readonly ReadUpTo[];
  readonly pace: Pace;
  readonly random: Random;
}

/** Limits for requests of the history of places. */
export interface Pace {
  /** How many places are fetched in parallel; if more than `burst` wait, each takes at least `pauseMs`. */
  readonly atOnce: number;
  readonly pauseMs: number;
  readonly burst: number;
}
