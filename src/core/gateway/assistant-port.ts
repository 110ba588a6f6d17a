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

export interface ConversationOptions {
  /** Receives the messages to the session, waiting ones first. */
  readonly onMessage?: (message: AttachedMessage) => void;
  /** Live events of every turn of the session: text is cumulative, and older ones may be left out. */
  readonly onEvent?: (event: OutboundEvent) => void;
  /**
   * Answers the questions of all turns of the session; without it, nobody can be asked. The signal aborts once no answer is
   * needed.
   */
  readonly onApproval?: (question: ApprovalQuestion, signal: AbortSignal) => Promise<ApprovalReply>;
  /** The texts of files as this editor shows them. @default they are read from the disk and written to it */
  readonly files?: LentFiles;
  /** MCP servers that the owner agreed to; they run, for this session alone, until it is disposed of. @default none */
  readonly servers?: readonly EditorServer[];
}

/** A terminal session, followed until this is disposed of. Turns that are running then continue. */
export interface Conversation extends Disposable {
  /** Resolves when the turn that answers this message has ended, for whatever reason. Aborting the signal stops the turn. */
  send(input: SendInput, options?: { readonly signal?: AbortSignal }): Promise<TurnSummary>;
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
  /** Calls an operation, with input that has been validated. */
  call<Name extends RequestName>(
    name: Name,
    input: RequestParams<Name>,
    by?: CallOptions,
  ): Promise<RequestResult<Name>>;
  /** Follows a terminal session by its name. */
  open(session: string, options?: ConversationOptions): Conversation;
}

/** The assistant of this process, which knows its operations. */
export interface OwnAssistant extends AssistantPort {
  readonly operations: OperationTable;
}
