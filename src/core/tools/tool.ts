import type * as z from 'zod';
import type { Media, Role } from '../bus/messages.ts';
import type { TaintAction, TaintBits } from '../security/access/taint.ts';
import type { SaidText } from '../security/access/url-origin.ts';
import type { Permit } from '../util/permit.ts';
import type { FileStore } from '../files/access.ts';

/**
 * What a call may change. `none` reads only and may run beside others; `idempotent` may be repeated after a crash;
 * `effect` is never repeated: its start is on the tape before it runs.
 */
export type EffectClass = 'none' | 'idempotent' | 'effect';

/** Marks a request's context: text from strangers, and private text of the owner. */
export type Taint = TaintBits;

/** What a person is asked to allow: exactly what will run. */
export interface ApprovalRequest {
  /** One line: what kind of thing, e.g. `Run a command`. */
  readonly title: string;
  /** The whole of what will happen, e.g. the command. */
  readonly detail: string;
  /** Why it is asked. */
  readonly reason: string;
  /** The real path that a yes opens. @default none, or `detail` */
  readonly path?: string;
  /** The exact program that a person may allow for good: absolute path, then arguments. @default this call only */
  readonly always?: { readonly program: readonly string[]; readonly folder: string; readonly hash: string };
  /** Questions with the same `joins` that are asked at the same time become one question with this title. @default none */
  readonly joins?: string;
  /** Of everything that a yes covers (approvalHash); the registry's doing. @default of title and detail */
  readonly hash?: string;
  /** Which question it is of a call that asks several while it runs, from 1. @default the one before it runs */
  readonly part?: number;
}

export type ApprovalAnswer =
  | { readonly approved: true; /** Who said yes, and how. @default not told */ readonly by?: string }
  | { readonly approved: false; readonly reason: string };

/** What the person whom a turn answers is asked. */
export interface AskedQuestion {
  /** Markdown. */
  readonly text: string;
  /** Answers to choose from; other words can be given too. */
  readonly choices: readonly string[];
}

export type AskAnswer =
  | { readonly answered: true; readonly text: string }
  | { readonly answered: false; readonly reason: string };

/** Where a message goes. */
export interface ChatAddress {
  readonly channel: string;
  readonly chatId: string;
  readonly threadId?: string;
}

/** What the skills that are active in a turn ask for. */
export interface ActiveSkills {
  readonly names: readonly string[];
  /** Others may have written the text of one. */
  readonly foreign: boolean;
  /** Real paths of their folders; what lies there may always be read. */
  readonly folders: readonly string[];
  /** Which of them limit what may be called. */
  readonly limitedBy: readonly string[];
  /** A call must match one of them; null: no limit. */
  readonly allowed: readonly { readonly tool: string; readonly commandPrefix?: string }[] | null;
  /** Variables for child processes. */
  readonly env: Readonly<Record<string, string>>;
}

/** No skill is active. */
export const NO_SKILLS: ActiveSkills = {
  names: [],
  foreign: false,
  folders: [],
  limitedBy: [],
  allowed: null,
  env: {},
};

/** Which call it is. */
export interface CallIds {
  /** The call's own: unique, and the same after a crash. */
  readonly id: string;
  readonly turnId: string;
  readonly sessionKey: string;
  /** The inbound message that the turn answers. */
  readonly messageId: string;
}

/** For whom a call runs, and where they are answered. */
export interface CallPerson {
  /** The turn's role: the weakest of those who had a say in it. */
  readonly role: Role;
  /** What began the turn. */
  readonly origin: string;
  /** `channel:id` of the sender; null: no one. */
  readonly who: string | null;
  /** Where the turn is held; what is for the owner's direct chats alone refuses an unknown one, null. */
  readonly chatType: 'direct' | 'group' | null;
  /** The chat in which the turn is answered; null: none. */
  readonly chat: ChatAddress | null;
}

/** What a call may reach of the disk beside what everybody may. */
export interface CallFiles {
  /** Absolute path of the workspace. */
  readonly workingDirectory: string;
  /** Folders of this session alone that may be read beside the common ones. */
  readonly readRoots: readonly string[];
  /** Folders of this session alone that may be read and changed, such as the project of an editor. @default none */
  readonly roots?: readonly string[];
  /** Holds the texts of files in place of the disk, such as the editor in which `roots` are open. @default the disk */
  readonly store?: FileStore;
}

/** What stands in the conversation that the call comes from. */
export interface CallConversation {
  readonly taint: Taint;
  /** Who said what in the conversation, for `urlOrigin`. */
  readonly said: () => readonly SaidText[];
  /**
   * Takes one of the chat's few free choices, see `FreeChoices`; false if they are used up. Answers the same when called again
   * for the same call.
   */
  readonly takeFreeChoice: () => Promise<boolean>;
}

/** What the turn limits beside the role. */
export interface CallLimits {
  readonly skills: ActiveSkills;
  /** Why a tool is not available in this turn regardless of its role; null: the role decides. */
  readonly withheld: (tool: string) => string | null;
}

/** The people whom a call can reach. None of these rejects, unless it is stopped. */
export interface CallPeople {
  /** Asks a person who may allow it; no answer and no one to ask are a no. */
  readonly approve: (request: ApprovalRequest) => Promise<ApprovalAnswer>;
  /** Asks the person whom the turn answers and waits for their next words. */
  readonly ask: (question: AskedQuestion) => Promise<AskAnswer>;
  /**
   * A text of the model as people may see it, after the `render` hooks of plugins; '' when one refuses it. For what a tool
   * sends besides the turn's answer.
   */
  readonly rendered: (text: string) => Promise<string>;
  /** Shows one short line of progress in the chat. */
  readonly progress: (text: string) => void;
}

/** What a person allowed for this very call. */
export interface CallApproval {
  /** The `path`, or else the `detail`, of the request that they allowed. */
  readonly covers: string;
  /**
   * Whether what would run now differs from that; the registry asks before it starts the tool, and a tool that waits
   * before it acts asks again.
   */
  readonly changed: () => Promise<boolean>;
}

/** Runs another call as the `n`th part of this one, as if it stood alone; its id is `id.n`. */
export type RunPart = (n: number, call: { readonly name: string; readonly arguments: string }) => Promise<ToolResult>;

/** What a call is told when it runs. */
export interface ToolContext {
  /** Aborts when the call has to end: a /stop, its time limit, the end of the process. */
  readonly signal: AbortSignal;
  readonly call: CallIds;
  readonly person: CallPerson;
  readonly files: CallFiles;
  readonly conversation: CallConversation;
  readonly limits: CallLimits;
  readonly people: CallPeople;
  /** Null: no one had to allow it. */
  readonly approval: CallApproval | null;
  /** Null: the call belongs to no turn. */
  readonly runPart: RunPart | null;
  /** Asked right before the call has an effect, when it waited for anything since it began. @default always permitted */
  readonly permit?: Permit;
}

/** Header facts for the model: short scalars such as path, lines, size, truncated, exitCode, durationMs. */
export type ToolMetadata = Readonly<Record<string, string | number | boolean | null>>;

export const TARGET_KINDS = ['file', 'command', 'process', 'message', 'job', 'memory', 'task', 'conversation'] as const;

/** What a call is about: two calls that name the same thing in the same way are about the same. */
export interface EffectTarget {
  readonly kind: (typeof TARGET_KINDS)[number];
  /** A path, a command line, a chat, the id of a job, ... */
  readonly target: string;
  /** Its failure is not worth a line: it only looks, as far as its words tell, or the answer says the same. @default false */
  readonly minor?: boolean;
}

/** What became of a call with effects, as data. */
export type Effect = {
  /** Name of the tool. */
  readonly tool: string;
  /** `unknown`: it began and was cut off. */
  readonly outcome: 'done' | 'failed' | 'refused' | 'unknown';
  /** Of a command that ended by itself. */
  readonly exitCode?: number;
  /** There is nothing of the name of its target. */
  readonly missing?: boolean;
} & (EffectTarget | { /** The tool says no more. */ readonly kind: 'call'; readonly target: null });

export interface ToolResult {
  /** What was done, in a few words: `read notes.md`. */
  readonly title: string;
  /** What the model reads. */
  readonly output: string;
  readonly metadata: ToolMetadata;
  /**
   * The program's own words about it, read after the output and never fenced; nothing of others may stand in it.
   * @default none
   */
  readonly note?: string;
  /** The lines of files that it changed, each behind `+` or `−`, for people who watch; the model does not read it. @default none */
  readonly diff?: string;
  /** What people who watch read of a failure where `output` tells a model how to call the tool. @default the output */
  readonly failure?: string;
  readonly isError?: boolean;
  /** Rules or a person did not let it run. */
  readonly refused?: boolean;
  /** It began and was cut off, so it may have taken effect. */
  readonly doubtful?: boolean;
  /** There is nothing of the name that it was given, such as a file or a job. */
  readonly missing?: boolean;
  readonly untrusted?: boolean;
  readonly private?: boolean;
  /** The turn ends here, and nothing of it is sent. @default false */
  readonly silences?: true;
  /** A person was asked about the call and said yes; the registry's doing. */
  readonly approved?: boolean;
  /** Who wrote the output, so that it may name addresses: a person, or outsiders whose page was fetched. @default unknown */
  readonly author?: 'person' | 'outside';
  readonly media?: readonly Media[];
  /** What it changed or tried to change; the registry's doing, except for a tool that runs others. */
  readonly effects?: readonly Effect[];
  /** The skill whose text this is; it is active from now to the end of the turn. As instructions it is never fenced. */
  readonly skill?: string;
}

/** What a tool returns: a result whose `metadata` may be left out. */
export type Executed = Omit<ToolResult, 'metadata'> & Partial<Pick<ToolResult, 'metadata'>>;

/** What a call does that taint may forbid, and what a person is then asked. */
export interface DeclaredAction extends Pick<ApprovalRequest, 'title' | 'detail' | 'joins'> {
  readonly action: TaintAction;
}

/** What is known of a tool beside its calls. A tool from elsewhere has none of the flags, which is the careful treatment. */
export interface ToolFacts {
  readonly name: string;
  /** The smallest context window beside which a model is offered it. @default 'full' */
  readonly fits?: 'small' | 'tiny';
  /**
   * Turns that don't get it: those of a `subagent`, because it writes to people or starts work of its own, and those of a
   * program's `visit`, because it leaves something behind or waits for what comes later. @default none
   */
  readonly withheldFrom?: readonly ('subagent' | 'visit')[];
  /** It changes nothing, so a conversation that its owner made read-only has it, too. @default false */
  readonly onlyReads?: true;
  /** All that it changes is recorded, so /undo takes it back. @default false */
  readonly isRecorded?: true;
  /** Where untrusted text in its results comes from, for people. @default 'an outside source' */
  readonly source?: string;
  /** Set for a tool that isn't built in: whether the owner agreed that it only reads. @default it is built in */
  readonly foreign?: { readonly onlyReads: boolean };
  /** Its results are web pages or web searches. @default false */
  readonly fetches?: true;
  /** Matches the arguments of calls that change nothing, of a tool with effects. @default none */
  readonly looks?: RegExp;
}

/** What a call will do, worked out once, before anything happens. Planning changes nothing. */
export interface Plan {
  /** Does it. `signal` aborts at a /stop, the time limit, the end of the process. May throw: that becomes an error result. */
  run(signal: AbortSignal): Promise<Executed>;
  /** What a person has to allow first. @default nobody is asked */
  readonly asks?: ApprovalRequest;
  /**
   * What a yes covers beside the tool, its parameters and what was shown, such as the content of files: plain data. The call
   * is planned again right before its start; it doesn't start when this is different then. @default nothing more
   */
  readonly covers?: Readonly<Record<string, unknown>>;
  /** What it does beyond this conversation; a person is asked where taint demands it. @default nothing */
  readonly reaches?: DeclaredAction;
  /** What a call with effects is about, for receipts. @default the tool itself */
  readonly about?: readonly EffectTarget[];
  /**
   * Whether strangers' answer to the call may hold what the model put into it. Then it is as private as the conversation, and
   * names no addresses even if the tool `fetches`. @default true
   */
  readonly echoes?: boolean;
  /** Why nobody is asked, where that is worth telling in the audit log. */
  readonly allowedBy?: string;
  /** Releases what planning holds, such as a descriptor. Called once, when the call is over, also if it never ran. */
  close?(): Promise<void>;
}

/** A call that isn't allowed, whoever says yes to it. `denied`: why, one sentence or clause. */
export interface Denied extends Pick<Plan, 'about'> {
  readonly denied: string;
}

export type Planned = Plan | Denied;

/** What is known of a tool, without what its calls do. */
export interface ToolTraits<Schema extends z.ZodObject> extends ToolFacts {
  readonly description: string;
  readonly parameters: Schema;
  /**
   * The JSON Schema that a model sees instead of one made of `parameters`, for a tool that comes from elsewhere; such
   * tools are listed after all others. @default made of `parameters`
   */
  readonly jsonSchema?: Readonly<Record<string, unknown>>;
  readonly effect: EffectClass;
  /** The least role that may call it. @default 'trusted' */
  readonly role?: Role;
  /** @default 120_000 */
  readonly timeoutMs?: number;
  /** It waits for a person: it holds no slot, and has no deadline but its own. @default false */
  readonly waits?: boolean;
  /** All that it does are calls of other tools, by `runPart`. @default false */
  readonly onlyParts?: boolean;
  /** Strangers write what it answers, also its errors: every result counts as untrusted. @default false */
  readonly untrusted?: boolean;
  /** What a call is about, by its parameters alone, where its plan doesn't say and where it is refused unplanned. @default the tool itself */
  about?(params: z.infer<Schema>, context: ToolContext): readonly EffectTarget[];
}

/** A tool as the registry keeps it: the type of its schema is forgotten. */
export interface Tool extends ToolTraits<z.ZodObject> {
  /** Works out what a call with these parameters will do, or why it is denied. A throw denies the call. */
  plan(params: z.infer<z.ZodObject>, context: ToolContext): Planned | Promise<Planned>;
}

/** A tool as it is written: with a plan for each call, or, where effect, role and schema say everything, with `execute`. */
export type ToolDefinition<Schema extends z.ZodObject = z.ZodObject> = ToolTraits<Schema> &
  (
    | { plan(params: z.infer<Schema>, context: ToolContext): Planned | Promise<Planned> }
    | {
        /** Does it. May throw: the registry turns that into an error result. */
        execute(params: z.infer<Schema>, context: ToolContext): Promise<Executed>;
      }
  );

/** Declares a tool; one zod schema serves validation, types and what the model sees. */
export function defineTool<Schema extends z.ZodObject>(definition: ToolDefinition<Schema>): Tool;
export function defineTool(definition: ToolDefinition): Tool {
  if ('plan' in definition) return definition;
  const plan: Tool['plan'] = (params, context) => ({
    run: (signal) => definition.execute(params, { ...context, signal }),
  });
  // A copy of the values would make the schema of each tool of an MCP server at once.
  return Object.defineProperties({ plan }, Object.getOwnPropertyDescriptors(definition)) as Tool;
}

/** For `reaches` of a call that shows text of the owner; taint forbids it in groups. `detail`: what is shown. */
export function showsInGroup(detail: string): DeclaredAction {
  return { action: { kind: 'show-to-group' }, title: 'Show something of yours to a group', detail };
}
