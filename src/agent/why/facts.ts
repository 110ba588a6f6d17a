import type { MessageLife, QuestionLife, ReplyLife, TurnLife } from '../../journal/lives.ts';
import type { UsageSum } from '../../journal/usage.ts';
import type { TapeEntry } from '../../session/entry.ts';

/** A channel as it is now. */
export interface ChannelNow {
  readonly name: string;
  readonly state: string;
  readonly detail?: string | undefined;
}

/** All that is known of a message and the turn that answered it. */
export interface WhyFacts {
  /** The message that was asked about; undefined: the turn is not that of a message, or it is not kept any more. */
  readonly message: MessageLife | undefined;
  /** The other messages that the same turn answered. */
  readonly others: readonly MessageLife[];
  /** Undefined: no turn took the message. */
  readonly turn: TurnLife | undefined;
  /** The turn of the conversation that runs now, if it is another one. */
  readonly busyWith: TurnLife | undefined;
  /** What the tape has of the turn, oldest first. */
  readonly entries: readonly TapeEntry[];
  /** How its prompt differs from that of the turn before, as a sentence; null: it begins with the same. */
  readonly promptChange: string | null;
  readonly replies: readonly ReplyLife[];
  readonly questions: readonly QuestionLife[];
  readonly cost: UsageSum | null;
  /** Where it was asked about; null: not in a chat. */
  readonly chatType: 'direct' | 'group' | null;
  /** Undefined: it is no channel of people. */
  readonly channel: ChannelNow | undefined;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** One thing that happened. */
export interface WhyStep {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly what: string;
}

/** Why something happened, or did not. */
export interface WhyStory {
  /** What it is about, in a few words. */
  readonly subject: string;
  /** One or two sentences: the cause, in plain words. */
  readonly cause: string;
  /** Id of the turn; null: there was none. */
  readonly turn: string | null;
  readonly session: string;
  /** Milliseconds since 1970 of the beginning. */
  readonly at: number;
  /** Oldest first. */
  readonly steps: readonly WhyStep[];
  /** US dollars and tokens of the turn's model calls, in words as `usage` has them; null: nothing was asked of a model, or it is not for the asker. */
  readonly cost: string | null;
}
