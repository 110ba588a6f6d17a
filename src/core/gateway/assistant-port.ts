import type { EditorServer, LentFiles } from '../bus/editor.ts';
import type { OutboundEvent, Role, TurnSummary } from '../bus/messages.ts';
import type { OperationTable } from './operations/call.ts';
import type { RequestName, RequestParams, RequestResult } from './operations/operations.ts';
import type { AgentFacts, AssistantInfo, HomeOnGateway, StoreFacts } from './assistant-info.ts';

export { homesHere, nameHome } from './assistant-info.ts';

/** How a turn is going, and how it ended, for those who talk to an assistant. */
export type { AgentFacts, AssistantInfo, HomeOnGateway, OutboundEvent, StoreFacts, TurnSummary };

export interface SendInput {
  /** The same message sent again under the same id is taken once. @default a new one */
  readonly id?: string;
  /** Name of the terminal session. */
  readonly session: string;
  readonly text: string;
  /** Absolute paths of images that belong to the message. */
  readonly images?: readonly string[];
  /** `provider/model` for this message only. */
  readonly model?: string;
  /** Names of the only tools that this turn, and subagents that it starts, may use. @default all that its role may use */
  readonly tools?: readonly string[];
  /** The turn is stopped when it has worked for this long. @default `agent.turnTimeoutMinutes` */
  readonly timeoutMs?: number;
  /** How often a model call that failed for a passing reason is tried again, 0 to 20. @default 4, or 2 if a fallback follows */
  readonly retries?: number;
  /** Texts of files that an editor sends with it. Others may have written them. */
  readonly files?: readonly { readonly name: string; readonly text: string }[];
  /** The turn goes on when whoever sent it goes away. @default false */
  readonly keeps?: boolean;
}

/** What a person is asked before something runs. */
export interface ApprovalQuestion {
  readonly id: string;
  /** One line: what kind of thing. */
  readonly title: string;
  /** The whole of what will happen. */
  readonly detail: string;
  /** Why it is asked. */
  readonly reason: string;
  /** The program and its arguments that may be allowed for good; without it only this call can be. */
  readonly always?: { readonly program: readonly string[] };
}

/** Yes, no, yes from now on (where the question says `always`), or no and why. */
export type ApprovalReply = boolean | 'always' | { readonly reason: string };

export interface SendOptions {
  /** Aborting it stops the turn. */
  readonly signal?: AbortSignal;
  /** Live events: text is cumulative, and older ones may be left out. */
  readonly onEvent?: (event: OutboundEvent) => void;
  /** Answers questions; without it no one can be asked. The signal aborts when no answer is needed any more. */
  readonly onApproval?: (question: ApprovalQuestion, signal: AbortSignal) => Promise<ApprovalReply>;
}

export interface AttachOptions extends Pick<SendOptions, 'onApproval'> {
  /** Live events of every turn of the session. */
  readonly onEvent?: (event: OutboundEvent) => void;
  /** The texts of files as this editor shows them. @default they are read from the disk and written to it */
  readonly files?: LentFiles;
  /** MCP servers that the owner agreed to; they run, for this session alone, until it is disposed of. @default none */
  readonly servers?: readonly EditorServer[];
}

/** A durable message to a terminal session. */
export interface AttachedMessage {
  readonly id: string;
  readonly text: string;
  readonly kind: string;
  readonly turnId?: string;
  /** What sent it by itself, e.g. `the reminder tea`; undefined for an answer and for what the program reports. */
  readonly from?: string;
}

export interface ToolInfo {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of an object. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** What a call may change: none, idempotent, effect. */
  readonly effect: string;
  /** The least role that may call it. */
  readonly role: string;
}

export interface ToolRun {
  readonly name: string;
  /** JSON text, as a model would write it. */
  readonly arguments: string;
  /** Only decide; run nothing. */
  readonly dryRun: boolean;
}

export interface ToolRunReport {
  readonly decision: 'allow' | 'ask' | 'deny';
  readonly reason: string | null;
  /** Null when it did not run. */
  readonly result: {
    readonly title: string;
    readonly output: string;
    readonly metadata: Readonly<Record<string, string | number | boolean | null>>;
    readonly isError: boolean;
  } | null;
}

export interface CallOptions {
  /** How the person came in, for the audit log: `web:owner`. @default 'terminal:owner' */
  readonly door?: string;
  /** What the person may do. @default 'owner': only owners get to the terminal, the control socket and the page */
  readonly role?: Role;
}

/** An assistant to talk to, whether it lives in this process or behind the control socket. */
export interface AssistantPort {
  /** Resolves when it cannot be reached any more; without it that does not happen. */
  readonly lost?: Promise<unknown>;
  info(): AssistantInfo | Promise<AssistantInfo>;
  /** Resolves when the turn that answers this message has ended, however it ended. */
  send(input: SendInput, options: SendOptions): Promise<TurnSummary>;
  /** Until it is disposed of, the listener gets the messages to this session, waiting ones first. */
  attach(session: string, listener: (message: AttachedMessage) => void, options?: AttachOptions): Disposable;
  tools(): readonly ToolInfo[] | Promise<readonly ToolInfo[]>;
  runTool(run: ToolRun): Promise<ToolRunReport>;
  /** Calls one of the operations, with parameters that were checked. */
  request<Name extends RequestName>(
    name: Name,
    params: RequestParams<Name>,
    options?: CallOptions,
  ): Promise<RequestResult<Name>>;
}

/** The assistant of this process, which knows its operations. */
export interface OwnAssistant extends AssistantPort {
  readonly operations: OperationTable;
}
