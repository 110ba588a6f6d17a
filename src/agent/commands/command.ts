import type { InboundMessage, Role } from '../../bus/messages.ts';
import type { ClosedTurn } from '../../journal/turns.ts';
import type { UsageSum } from '../../journal/usage.ts';
import type { ContextReport } from '../context-window.ts';

/** What commands may reach; the loop provides it. */
export interface CommandPorts {
  /** Everything before is out of the session's history. */
  resetSession(sessionKey: string, reason: string): Promise<void>;
  status(sessionKey: string): Promise<StatusReport>;
  readonly models: ModelChoice;
  /** The newest turn of a session that ran no command. */
  lastTurn(sessionKey: string): ClosedTurn | undefined;
  /** Sums since a time, ms since 1970; of one session or of all. */
  usage(since: number, sessionKey?: string): UsageSum;
  /** When the owner's day began, ms since 1970. */
  today(): number;
}

/** Which model answers in a session. */
export interface ModelChoice {
  /** `provider/model` for sessions that chose none. */
  readonly standard: string;
  /** What was chosen for a session; null: the standard. */
  chosen(sessionKey: string): string | null;
  /** The full name of what `ref` means. Throws one sentence when it can not be called. */
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
  readonly channels: Readonly<Record<string, { readonly state: string; readonly detail?: string }>>;
  readonly warnings: readonly string[];
}

export interface CommandContext {
  readonly message: InboundMessage;
  /** What stands behind the command, trimmed, case and line breaks kept. */
  readonly args: string;
  /** How many waiting messages a command that interrupts dropped. */
  readonly dropped: number;
  readonly ports: CommandPorts;
}

/** Instead of a reply: the messages of this turn are answered again. */
export interface Rerun {
  readonly rerun: ClosedTurn;
}

/** A chat command: it acts without the model and leaves no trace in its context. */
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
  /** The reply, in Markdown. What it throws is told to the person. */
  run(context: CommandContext): Promise<string | Rerun>;
}
