import type { DiskOutage } from '../../journal/around.ts';
import type { ChannelThen } from '../../journal/channel-log.ts';
import type { MessageLife, QuestionLife, ReplyLife, SentLife, TurnLife } from '../../journal/lives.ts';
import type { UsageSum } from '../../journal/usage.ts';
import type { TapeEntry } from '../../session/entry.ts';

/** A channel as it is now. */
export interface ChannelNow {
  readonly name: string;
  readonly state: string;
  readonly detail?: string;
}

/** A subagent that the turn started and that does not work any more. */
export interface EndedTask {
  readonly label: string;
  /** As the outcome of its turn. */
  readonly outcome: string;
  /** Its last words: its result, or why it failed. */
  readonly answer: string;
}

/** All that is known of a message and the turn that answered it. */
export interface WhyFacts {
  /** The message that was asked about; undefined: the turn is not that of a message, or it is not kept any more. */
  readonly message: MessageLife | undefined;
  /** The other messages that the same turn answered. */
  readonly others: readonly MessageLife[];
  /** The edits of the message, oldest first. */
  readonly edits: readonly MessageLife[];
  /** A message of which nothing is known was received all the same: its record was deleted by age. */
  readonly wasReceived: boolean;
  /** Why the channel did not take a message of which nothing else is known, as the end of a sentence; undefined: it is not recorded. */
  readonly passedOver: string | undefined;
  /** When a message of which nothing is known was sent, ms since 1970; undefined: not known. */
  readonly unknownAt: number | undefined;
  /** What the channel was when the message was sent; undefined: not known. */
  readonly channelThen: ChannelThen | undefined;
  /** The assistant sent the message that was asked about; `text` is '' where no record of it is kept. Null: somebody else did. */
  readonly sent: Pick<SentLife, 'kind' | 'text' | 'from'> | null;
  /** Undefined: no turn took the message. */
  readonly turn: TurnLife | undefined;
  /** The turn of the conversation that runs now, if it is another one. */
  readonly busyWith: TurnLife | undefined;
  /** The turn of the conversation before this one. */
  readonly before: TurnLife | undefined;
  /** Why the turn before, which had the same message, gave no answer; null: the turn is no repetition by /retry. */
  readonly retried: string | null;
  /** The messages that came while the turn ran and that it does not answer, newest first. */
  readonly cameDuring: readonly MessageLife[];
  /** What the tape has of the turn, oldest first. */
  readonly entries: readonly TapeEntry[];
  /** A part of the conversation was replaced by a summary just before the turn. */
  readonly wasSummarized: boolean;
  readonly tasks: readonly EndedTask[];
  /** How its prompt differs from that of the turn before, as a sentence; null: it begins with the same. */
  readonly promptChange: string | null;
  readonly replies: readonly ReplyLife[];
  readonly questions: readonly QuestionLife[];
  readonly cost: UsageSum | null;
  /** Where it was asked about; null: not in a chat. */
  readonly chatType: 'direct' | 'group' | null;
  /** Undefined: it is no channel of people. */
  readonly channel: ChannelNow | undefined;
  /** `place`: other turns are at work, as many as may be; `more`: the message is held back, because more may follow. */
  readonly waitsFor: 'place' | 'more' | null;
  /** By how much the clock of the platform is behind the one here, at most; ms. */
  readonly clockLag: number;
  readonly outages: readonly DiskOutage[];
  /** When this process started, milliseconds since 1970. */
  readonly upSince: number;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** Something that made an answer late, or other than one would expect. */
export interface Delay {
  /** How long it took; 0: not known. */
  readonly ms: number;
  readonly text: string;
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
  /** One or more sentences: the cause, in plain words. */
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
