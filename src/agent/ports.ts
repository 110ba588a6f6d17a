import type { MessageBus } from '../bus/bus.ts';
import type { InboundMessage, Role } from '../bus/messages.ts';
import type { Inbox } from '../journal/inbox.ts';
import type { Journal } from '../journal/journal.ts';
import type { Reactions } from '../journal/reactions.ts';
import type { Turns } from '../journal/turns.ts';
import type { ToolSpec } from '../providers/provider.ts';
import type { Redact } from '../security/redact/redact.ts';
import type { EntryOf } from '../session/entry.ts';
import type { Sessions } from '../session/sessions.ts';
import type { MediaStore } from '../storage/media.ts';
import type { PromptParts } from '../storage/prompt-parts.ts';
import type { SpillStore } from '../storage/spill.ts';
import type { StorageHealth } from '../storage/storage-health.ts';
import type { EditorFiles } from '../tools/files/editor-files.ts';
import type { ToolRegistry } from '../tools/registry/registry.ts';
import type { Clock } from '../util/clock.ts';
import type { Ids } from '../util/ids.ts';
import type { Logger } from '../util/log.ts';
import type { Slots } from '../util/slots.ts';
import type { Consolidation } from './consolidation/consolidation.ts';
import type { WindowSize } from './context/window-size.ts';
import type { CallBounds } from './context/call-bounds.ts';
import type { HookRunner, TurnFacts } from './hooks/hooks.ts';
import type { BurstSettings } from './message-batching.ts';
import type { RenderParts } from './outgoing.ts';
import type { TurnSkills } from './prompt/active-skills.ts';
import type { RenderedPrompt } from './prompt/system-prompt.ts';
import type { GetAttachments } from './prompt/user-message.ts';
import type { Questions } from './questions/questions.ts';
import type { ChosenModel } from './turn/current-turn.ts';

/** The process that turns run in. */
export interface RuntimePorts {
  readonly clock: Clock;
  readonly log: Logger;
  /** Ids that sort in the order in which they were made. */
  readonly newId: Ids;
  /** Replaces secrets in a text by `[redacted]`. */
  readonly redact: Redact;
  /** Whether the disk takes writes; a write waits there until it does. */
  readonly storage: Pick<StorageHealth, 'failed' | 'healed' | 'untilWritten'>;
}

/** What outlives a turn: the two stores, the queues between channels and the agent, and the memory. */
export interface StorePorts {
  /** The truth between turns: inbox, turns, outbox. */
  readonly journal: Journal;
  /** The truth inside a turn: the tapes. */
  readonly sessions: Sessions;
  readonly bus: MessageBus;
  /** Writes the older parts of a conversation into the memory. */
  readonly consolidation: Pick<Consolidation, 'beforeTurn' | 'afterTurn'>;
}

/** Which model answers, and what it is sent in addition to the conversation. */
export interface ModelPorts {
  /** The model of a `provider/model` reference; null: the standard one. Never throws: a wrong reference gives a provider whose answer is the reason. */
  readonly resolve: (ref: string | null) => ChosenModel;
  /** The system prompt for a turn of this role that answers this message, for a model that reads so much at once. */
  readonly systemPrompt: (target: InboundMessage, role: Role, size: WindowSize) => Promise<RenderedPrompt>;
  /** The tools that the model sees in such a turn; the same in each turn of a session. */
  readonly toolsFor: (target: InboundMessage, role: Role) => readonly ToolSpec[];
  /** Keeps each call within its bounds: budget, context window, cached prefix. */
  readonly bounds: CallBounds;
  /** Stores the prompts and tool lists that models were sent, by hash. */
  readonly promptParts: PromptParts;
  /** Null: the model's default. */
  readonly temperature: number | null;
  readonly reasoning: 'off' | 'low' | 'medium' | 'high';
  /** IANA zone of the times that the model reads, such as `Europe/Berlin`; null: the machine's. */
  readonly timezone: string | null;
}

/** The tools, and the files of tool calls and messages. */
export interface ToolPorts {
  readonly registry: ToolRegistry;
  readonly skills: TurnSkills;
  /** Absolute path of the workspace. */
  readonly workspace: string;
  /** Stores images. */
  readonly media: MediaStore;
  /** Fetches the attachments of a message. */
  readonly attachments: GetAttachments;
  /** The folder with the long tool results of a session. */
  readonly spill: Pick<SpillStore, 'folder'>;
  /** The folder of an editor that a session may read and change; undefined: none. */
  readonly editorFolder: (sessionKey: string) => string | undefined;
  readonly editorFiles: Pick<EditorFiles, 'of'>;
}

/** Limits of turns. */
export interface LimitPorts {
  /** Limit how many model calls and tools run at once, over all turns. */
  readonly slots: Slots;
  /** At most this many model calls in one turn. */
  readonly maxIterations: number;
  /** Cap of a tool result and of a subagent's result, in characters. */
  readonly toolResultChars: number;
  readonly turnTimeoutMs: number;
  /** What a new message does to a running turn of its session, and how long messages wait for further ones. */
  readonly bursts: BurstSettings;
}

/** Which answers can be spoken; asked when it matters, because the settings may change. */
export interface SpeechPorts {
  /** Whether voice messages can be made and sent to this channel. */
  readonly isOffered: (channel: string) => boolean;
  /** Whether each answer to a voice message is spoken. */
  readonly answersVoice: () => boolean;
}

/** How a turn talks to people. */
export interface PeoplePorts {
  readonly questions: Questions;
  /** Renders a message into the parts that its channel sends. */
  readonly render: RenderParts;
  /** Which answers can be spoken. */
  readonly speech: SpeechPorts;
  /** Whether the answer of a turn of a job or heartbeat is not sent. Not called for other turns. `hasSent`: it sent a text itself. */
  readonly holdBack: (facts: TurnFacts, end: EntryOf<'turn-end'>, hasSent: boolean) => Promise<boolean>;
  /** Resolves when no preview of the turn's answer is being sent any more. */
  readonly settled: (turnId: string, ended: { readonly isStopped: boolean }) => Promise<void>;
  /** The role that the writer of a message has now; null: they may not write any more. */
  readonly roleNow: (message: InboundMessage) => Role | null;
}

/** Everything that turns use, in groups by subject; `app/agent/turns.ts` builds it. A function takes only the groups that it uses. */
export interface TurnPorts {
  readonly runtime: RuntimePorts;
  readonly store: StorePorts;
  readonly model: ModelPorts;
  readonly tools: ToolPorts;
  readonly limits: LimitPorts;
  readonly people: PeoplePorts;
  /** The hooks of plugins. */
  readonly hooks: HookRunner;
}

/** What `runTurn` takes of the ports: a turn runs without channels and without a journal where these few are given. */
export interface RunPorts extends Omit<TurnPorts, 'store' | 'model' | 'people'> {
  readonly store: {
    readonly journal: {
      readonly inbox: Pick<Inbox, 'correct'>;
      readonly turns: Pick<Turns, 'absorb'>;
      readonly reactions: Pick<Reactions, 'toldWith'>;
    };
    readonly bus: Pick<MessageBus, 'publishOutbound'>;
  };
  readonly model: Pick<ModelPorts, 'promptParts' | 'temperature' | 'reasoning' | 'timezone'> & {
    readonly bounds: Pick<CallBounds, 'before' | 'over' | 'sending' | 'answered' | 'failed' | 'tighten' | 'loss'>;
  };
  readonly people: { readonly questions: Pick<Questions, 'approve' | 'ask'> };
}
