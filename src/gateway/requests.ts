import * as z from 'zod';
import type { PairedPerson, Pairing } from '../bus/pairing.ts';
import type { InboxItem, OutboxItem } from '../bus/waiting.ts';
import type { Difference, ServerFacts, ServerReport } from '../tools/mcp/server-facts.ts';

/** What may be asked of an assistant from a command line beside talking to it: the parameters of each request. */
export const requestParams = {
  /** What the next request of a session to its model is made of. */
  prompt: z.object({ session: z.string().min(1).max(400) }),
  /** What an owner can write in a chat that begins with a slash. */
  commands: z.object({}),
  /** Earlier versions of MEMORY.md, newest first. */
  memoryLog: z.object({}),
  /** MEMORY.md as it is now, or a version of it; `memory-version` when there is none with this id. */
  memoryShow: z.object({ id: z.string().exactOptional() }),
  /** Makes a version the present text, which is kept as a version before; `memory-version` as above. */
  memoryRestore: z.object({ id: z.string() }),
  /** Who was let in by a code, and who waits for it. */
  pairList: z.object({}),
  /**
   * Lets in the person who received the code or, named as `CHANNEL:ID`, gives a paired person another role;
   * `pairing-code` when no such code waits, `pairing-locked` after wrong ones, `pairing-person` for an unknown person.
   */
  pairApprove: z.object({ code: z.string(), role: z.enum(['owner', 'trusted', 'guest']).exactOptional() }),
  /** Shuts somebody out, named as `CHANNEL:ID`; `pairing-person` when no code let them in. */
  pairRemove: z.object({ person: z.string() }),
  /** What is scheduled, and changing it; `cron-…` when that cannot be done. */
  cron: z.object({
    action: z.enum(['add', 'list', 'show', 'remove', 'enable', 'disable', 'run']),
    id: z.string().max(64).exactOptional(),
    /** Of a job that no one agreed to: what it is now. */
    code: z.string().max(64).exactOptional(),
    job: z
      .object({
        when: z.string().max(400),
        text: z.string().max(20_000),
        kind: z.enum(['message', 'agent', 'command']),
        id: z.string().max(64).exactOptional(),
        zone: z.string().max(100).exactOptional(),
        chat: z.string().max(400).exactOptional(),
        session: z.enum(['own', 'main']).exactOptional(),
      })
      .exactOptional(),
  }),
  /** What an owner allowed for good, and which questions wait for an answer. */
  approvalsList: z.object({}),
  /** Asks again for what was allowed for good; `approval-unknown` when there is nothing with this id. */
  approvalsForget: z.object({ id: z.string() }),
  /** The MCP servers of the configuration. */
  mcpList: z.object({}),
  /** Starts one and tells what it offers; `mcp-unknown` for another name, `mcp-server` when it does not work. */
  mcpTest: z.object({ name: z.string() }),
  /** Takes what it offers now as agreed, if that is what `hash` of a test names; `mcp-changed` when it is not. */
  mcpTrust: z.object({ name: z.string(), hash: z.string() }),
  /** The packages in the folder of plugins, and those that the configuration lists. */
  pluginsList: z.object({}),
  /** Takes up what has changed in the configuration. */
  configReload: z.object({}),
  /** What is on its way out, or did not get there. */
  outboxList: z.object({}),
  /** Sends one again, or gives it up; `mail-unknown` when nothing can be done about it. */
  outboxRetry: z.object({ id: z.string() }),
  outboxDrop: z.object({ id: z.string() }),
  /** What came in and was not answered, or not yet. */
  inboxList: z.object({}),
  /** Lets one that was given up or refused have a turn, or refuses one that waits; `mail-unknown` as above. */
  inboxRetry: z.object({ id: z.string() }),
  inboxDrop: z.object({ id: z.string() }),
  /** Finds what was said in conversations, and what the memory holds; in one session or everywhere. Best first. */
  sessionsSearch: z.object({
    text: z.string().min(1).max(400),
    count: z.int().min(1).max(100),
    session: z.string().max(400).exactOptional(),
  }),
  /** Deletes a conversation; `session-busy` while it has a turn, `session-unknown` if there is none. */
  sessionsDelete: z.object({ session: z.string().min(1).max(400) }),
  /** Tokens and cost of the last days, today included. */
  usage: z.object({ by: z.enum(['day', 'model', 'source', 'session', 'job']), days: z.int().min(1).max(3_660) }),
  /** What it did by itself, newest first, and why people heard of it or did not. */
  why: z.object({ count: z.int().min(1).max(1_000) }),
  /** What was allowed, approved and refused, newest first. */
  audit: z.object({
    count: z.int().min(1).max(10_000),
    /** Only what was not simply allowed. */
    asked: z.boolean(),
    /** Part of what was to be done, of the session or of who wanted it; empty: everything. */
    about: z.string().max(400),
  }),
} satisfies Record<string, z.ZodObject>;

/** What each request answers with. */
interface RequestResults {
  readonly prompt: PromptInfo;
  readonly commands: readonly { /** Without the slash. */ readonly name: string; readonly description: string }[];
  readonly memoryLog: readonly MemoryVersion[];
  readonly memoryShow: { /** Null: the present text. */ readonly version: MemoryVersion | null; readonly text: string };
  readonly memoryRestore: MemoryVersion;
  readonly pairList: Pairing;
  readonly pairApprove: PairedPerson & { /** What the role allows, for people. */ readonly may: string };
  readonly pairRemove: PairedPerson & {
    /** A sentence when the channel has no owner now. */
    readonly ownerless: string | null;
  };
  readonly cron: CronInfo;
  readonly approvalsList: ApprovalsInfo;
  readonly approvalsForget: RememberedCommand;
  readonly mcpList: readonly ServerFacts[];
  readonly mcpTest: ServerReport;
  readonly mcpTrust: Difference;
  readonly pluginsList: readonly {
    readonly name: string;
    /** Null: there is no such package. */
    readonly version: string | null;
    readonly state: 'running' | 'not enabled' | 'failed' | 'safe mode';
  }[];
  readonly configReload: {
    /** What is different now, and when it takes effect: with the next message, at once by starting it anew, at a restart. */
    readonly changes: readonly { readonly path: string; readonly effect: 'live' | 'rebuild' | 'restart' }[];
    /** Why it was not taken up, one sentence; null: it was, or nothing is different. */
    readonly refused: string | null;
  };
  readonly outboxList: readonly OutboxItem[];
  readonly outboxRetry: null;
  readonly outboxDrop: null;
  readonly inboxList: readonly InboxItem[];
  readonly inboxRetry: null;
  readonly inboxDrop: null;
  readonly sessionsSearch: readonly {
    readonly source: 'memory' | 'history' | 'session';
    readonly session: string | null;
    /** Milliseconds since 1970. */
    readonly at: number | null;
    readonly role: 'user' | 'assistant' | null;
    /** One line around what was found. */
    readonly snippet: string;
  }[];
  readonly sessionsDelete: null;
  readonly usage: { /** Milliseconds since 1970. */ readonly since: number; readonly rows: readonly UsageSums[] };
  readonly why: readonly OwnStep[];
  readonly audit: readonly AuditedDecision[];
}

export interface PromptInfo {
  readonly session: string;
  /** `provider/model` */
  readonly model: string;
  /** Of the system prompt, in order; tokens are estimates. */
  readonly layers: readonly { readonly name: string; readonly text: string; readonly tokens: number }[];
  readonly tools: {
    readonly count: number;
    readonly tokens: number;
    /** As the model is shown them; `parameters` is a JSON Schema. */
    readonly specs: readonly {
      readonly name: string;
      readonly description: string;
      readonly parameters: Readonly<Record<string, unknown>>;
    }[];
  };
  readonly conversation: { readonly messages: number; readonly tokens: number };
  /** Tokens in all, and what the model can read. */
  readonly used: number;
  readonly window: number;
}

/** An earlier text of MEMORY.md. */
export interface MemoryVersion {
  readonly id: string;
  /** When it was kept, milliseconds since 1970. */
  readonly at: number;
  /** Why it was replaced, or what it was proposed for. */
  readonly reason: string;
  /** Bytes. */
  readonly size: number;
  /** A proposal was refused as the present text, and waits for a person. */
  readonly kind: 'kept' | 'proposed';
}

/** Times are ISO 8601. */
export interface CronInfo {
  /** Markdown. */
  readonly text: string;
  readonly jobs: readonly {
    readonly id: string;
    readonly kind: string;
    readonly text: string;
    readonly schedule: string;
    readonly chat: string;
    /** `own`: a conversation of its own; `main`: that of its chat. */
    readonly session: 'own' | 'main';
    /** `waiting`: found in the file, and no one agreed to it. */
    readonly state: 'active' | 'off' | 'waiting';
    /** `channel:id` */
    readonly by: string | null;
    readonly next: readonly string[];
    readonly code: string;
  }[];
  readonly runs: readonly {
    readonly due: string;
    readonly lastDue: string;
    readonly count: number;
    readonly execution: string;
    readonly delivery: string;
    readonly reason: string | null;
    readonly lateMs: number;
    readonly turnId: string | null;
  }[];
}

/** Times are milliseconds since 1970. */
interface RememberedCommand {
  readonly id: string;
  /** The absolute path of the program, then its arguments. */
  readonly program: readonly string[];
  readonly folder: string;
  readonly createdBy: string;
  readonly createdAt: number;
}

interface ApprovalsInfo {
  readonly remembered: readonly RememberedCommand[];
  readonly waiting: readonly {
    readonly code: string;
    readonly session: string;
    readonly title: string;
    readonly detail: string;
    readonly reason: string;
    /** When silence becomes a no. */
    readonly deadline: number;
  }[];
}

/** The model calls of a day, model, source, session or job. */
export interface UsageSums {
  readonly name: string;
  readonly calls: number;
  /** Tokens; `input` counts the cached ones too. */
  readonly input: number;
  readonly cached: number;
  readonly output: number;
  /** US dollars, of the calls whose price is known. */
  readonly costUsd: number;
  /** Calls whose price is unknown. */
  readonly unpriced: number;
}

/** One thing that it did without being asked. */
export interface OwnStep {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly what: string;
  /** In a word or two: told, silent, nothing to do, failed, missed, … */
  readonly outcome: string;
  readonly reason: string | null;
}

interface AuditedDecision {
  /** ISO 8601, UTC. */
  readonly at: string;
  readonly turn: string | null;
  readonly session: string | null;
  /** `channel:id`; null: nobody but the assistant itself. */
  readonly who: string | null;
  readonly role: string;
  readonly origin: string;
  readonly what: string;
  /** `allowed`: without a question; `approved` and `declined`: a person was asked. */
  readonly decision: 'allowed' | 'approved' | 'declined' | 'refused';
  readonly reason: string | null;
  /** Who said yes or no, and how. */
  readonly approval: string | null;
}

export const REQUEST_NAMES = [
  'prompt',
  'commands',
  'memoryLog',
  'memoryShow',
  'memoryRestore',
  'pairList',
  'pairApprove',
  'pairRemove',
  'cron',
  'approvalsList',
  'approvalsForget',
  'mcpList',
  'mcpTest',
  'mcpTrust',
  'pluginsList',
  'outboxList',
  'outboxRetry',
  'outboxDrop',
  'inboxList',
  'inboxRetry',
  'inboxDrop',
  'sessionsSearch',
  'sessionsDelete',
  'usage',
  'why',
  'audit',
] as const satisfies readonly (keyof typeof requestParams)[];

export type RequestName = keyof typeof requestParams;
export type RequestParams<Name extends RequestName> = z.output<(typeof requestParams)[Name]>;
export type RequestResult<Name extends RequestName> = RequestResults[Name];

/** One handler for each request. */
export type RequestHandlers = {
  readonly [Name in RequestName]: (params: RequestParams<Name>) => Promise<RequestResult<Name>>;
};
