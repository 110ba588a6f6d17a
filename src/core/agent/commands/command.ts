import type { InboundMessage, Role } from '../../bus/messages.ts';
import type { ClosedTurn } from '../../journal/turns.ts';
import type { UsageSum } from '../../journal/usage.ts';
import type { ContextReport } from '../context/fit.ts';

export interface StatusReport {
  readonly version: string;
  readonly model: string;
  readonly uptimeMs: number;
  readonly runningTurns: number;
  readonly waitingMessages: number;
  readonly waitingReplies: number;
  /** The model of this session, and how full its context is. */
  readonly context: ContextReport;
  /** Usage of this session today. */
  readonly hereToday: UsageSum;
  /** Usage of all sessions today. */
  readonly today: UsageSum;
  /** How shell commands are sandboxed, in words. */
  readonly sandbox: string;
  /** Lines of extensions, by what they are about: for the owner of everything, for others of this session. */
  readonly own: Readonly<Record<string, string>>;
  /** What is stored on the disk and what was removed last, in one line; null: not measured yet. */
  readonly storage: string | null;
  /** What becomes of voice messages, in one line; null: they are not turned into text. */
  readonly voice: string | null;
  /** Who speaks answers, in one line; null: no one. */
  readonly speech: string | null;
  /** How the memory is searched and where its texts go, in one line; null: by words alone, here. */
  readonly search: string | null;
  readonly channels: Readonly<Record<string, { readonly state: string; readonly detail?: string }>>;
  readonly warnings: readonly string[];
}

export interface CommandContext {
  /** Id of the command's own turn, which has no entries on the tape. */
  readonly turnId: string;
  readonly message: InboundMessage;
  /** The text after the command, trimmed; case and line breaks are kept. */
  readonly args: string;
  /** Waiting messages that were dropped because the command interrupts. */
  readonly dropped: number;
  /** Aborts on /stop in this session and when the process stops. */
  readonly signal: AbortSignal;
}

/** Instead of a reply: the messages of this turn are answered again. */
export interface Rerun {
  readonly rerun: ClosedTurn;
}

/**
 * A chat command: it runs without the model and is not part of the conversation that the model reads. Each is created
 * by a function that takes its ports.
 */
export interface ChatCommand {
  /** Without the slash. */
  readonly name: string;
  readonly description: string;
  /** The lowest role that may use it. */
  readonly role: Role;
  /** Runs at once, also while a turn of the session is running. */
  readonly priority: boolean;
  /** Ends the running turn of the session and drops messages that wait before it. */
  readonly interrupts: boolean;
  /**
   * True: running it twice with the same `turnId` has the same effect as once, so it is run again after a crash. After
   * a crash in any other command the person is told that its effect is unknown. @default false
   */
  readonly repeatable?: boolean;
  /** Returns the reply in Markdown. The message of a thrown error is sent to the person. */
  run(context: CommandContext): Promise<string | Rerun>;
}
