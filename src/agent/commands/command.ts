import type { InboundMessage, Role } from '../../bus/messages.ts';
import type { ClosedTurn } from '../../journal/turns.ts';
import type { UsageSum } from '../../journal/usage.ts';
import type { ContextReport } from '../context/fit.ts';

/** Which model answers in a session. */
export interface ModelChoice {
  /** `provider/model` for sessions that chose none. */
  readonly standard: string;
  /** What was chosen for a session; null: the standard. */
  chosen(sessionKey: string): string | null;
  /** The full name of what `ref` means. Throws one sentence when it cannot be called. */
  fullName(ref: string): string;
  /** Durable when it resolves; the next turn takes it. Null: the standard. */
  choose(sessionKey: string, model: string | null): Promise<void>;
}

export interface StatusReport {
  readonly version: string;
  readonly model: string;
  readonly uptimeMs: number;
  readonly runningTurns: number;
  readonly waitingMessages: number;
  readonly waitingReplies: number;
  /** The model of this session, and how full its context is. */
  readonly context: ContextReport;
  /** This session today. */
  readonly hereToday: UsageSum;
  /** All sessions today. */
  readonly today: UsageSum;
  /** How commands are enclosed. */
  readonly sandbox: string;
  /** Subagents of this session, and of all, one line each. */
  readonly subagentsHere: readonly string[];
  readonly subagents: readonly string[];
  /** How the looking after open tasks stands; null: there is none. */
  readonly heartbeat: string | null;
  /** What is kept on the disk, and what went last, as one line; null: not measured yet. */
  readonly storage: string | null;
  readonly channels: Readonly<Record<string, { readonly state: string; readonly detail?: string }>>;
  readonly warnings: readonly string[];
}

export interface CommandContext {
  /** Of the command itself; it has no entries on the tape. */
  readonly turnId: string;
  readonly message: InboundMessage;
  /** What stands behind the command, trimmed, case and line breaks kept. */
  readonly args: string;
  /** How many waiting messages a command that interrupts dropped. */
  readonly dropped: number;
  /** Aborts by /stop in this session and when the process ends. */
  readonly signal: AbortSignal;
}

/** Instead of a reply: the messages of this turn are answered again. */
export interface Rerun {
  readonly rerun: ClosedTurn;
}

/**
 * A chat command: it acts without the model and leaves no trace in its context. Each is made by a function that takes
 * what it reaches.
 */
export interface Command {
  /** Without the slash. */
  readonly name: string;
  readonly description: string;
  /** The least role that may use it. */
  readonly role: Role;
  /** Runs at once, also while a turn of the session is running. */
  readonly priority: boolean;
  /** Ends the running turn of the session and drops what waits before it. */
  readonly interrupts: boolean;
  /**
   * Running it again for the same `turnId` does no more than running it once: after a crash in the middle of it it is
   * run again. Of any other the person is told that nobody knows whether it took effect. @default false
   */
  readonly repeatable?: boolean;
  /** The reply, in Markdown. What it throws is told to the person. */
  run(context: CommandContext): Promise<string | Rerun>;
}
