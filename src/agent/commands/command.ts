import type { InboundMessage, Role } from '../../bus/messages.ts';

/** What commands may reach; the loop provides it. */
export interface CommandPorts {
  /** Everything before is out of the session's history. */
  resetSession(sessionKey: string, reason: string): Promise<void>;
  status(sessionKey: string): StatusReport;
}

export interface StatusReport {
  readonly version: string;
  readonly model: string;
  readonly uptimeMs: number;
  readonly runningTurns: number;
  readonly waitingMessages: number;
  readonly waitingReplies: number;
  /** Tokens of this session today. */
  readonly tokensToday: number;
  readonly channels: Readonly<Record<string, { readonly state: string; readonly detail?: string }>>;
  readonly warnings: readonly string[];
}

export interface CommandContext {
  readonly message: InboundMessage;
  /** What stands behind the command, trimmed, case and line breaks kept. */
  readonly args: string;
  readonly ports: CommandPorts;
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
  /** Ends the running turn of the session, then runs in its order. */
  readonly interrupts: boolean;
  /** The reply, in Markdown. */
  run(context: CommandContext): Promise<string>;
}
