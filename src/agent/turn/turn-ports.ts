import type { MessageBus } from '../../bus/bus.ts';
import type { InboundMessage, Role } from '../../bus/messages.ts';
import type { Journal } from '../../journal/journal.ts';
import type { Provider, ToolSpec } from '../../providers/provider.ts';
import type { Redact } from '../../security/redact/redact.ts';
import type { Session } from '../../session/session.ts';
import type { MediaStore } from '../../storage/media.ts';
import type { PromptParts } from '../../storage/prompt-parts.ts';
import type { SpillStore } from '../../storage/spill.ts';
import type { StorageHealth } from '../../storage/storage-health.ts';
import type { ToolRegistry } from '../../tools/registry/registry.ts';
import type { Clock } from '../../util/clock.ts';
import type { Slots } from '../../util/slots.ts';
import type { Logger } from '../../util/log.ts';
import type { TurnSkills } from '../prompt/active-skills.ts';
import type { Questions } from '../questions/questions.ts';
import type { Corrections } from './corrections.ts';
import type { CallBounds } from '../context/call-bounds.ts';
import type { HookRunner, TurnFacts } from '../hooks/hooks.ts';
import type { Live } from './live.ts';
import type { GetAttachments } from '../prompt/user-message.ts';

/** A model chosen for a turn. */
export interface ChosenModel {
  readonly provider: Provider;
  readonly providerName: string;
  /** The provider's own name of it. */
  readonly model: string;
}

export interface TurnSettings {
  readonly maxIterations: number;
  readonly maxOutputTokens: number;
  readonly temperature: number | null;
  readonly reasoning: 'off' | 'low' | 'medium' | 'high';
  readonly timezone: string | null;
  readonly workspace: string;
}

/** What a turn is given; it has no other state. */
export interface Turn {
  readonly facts: TurnFacts;
  readonly role: Role;
  readonly session: Session;
  readonly chosen: ChosenModel;
  /** Layers of the system prompt. */
  readonly system: readonly string[];
  /** The same as the workspace's files give them, before any hook. */
  readonly files: readonly string[];
  /** The owner speaks where nobody else reads along: what is said and the files in the prompt are private. */
  readonly isOwners: boolean;
  /** What the model is shown; what it may call is decided by the role, call by call. */
  readonly tools: readonly ToolSpec[];
  /** Aborts with `EndTurn` for a /stop or a deadline, with anything else when the process ends. */
  readonly signal: AbortSignal;
  readonly live: Live;
  /** What the model calls so far cost, dollars; null when a price is unknown. */
  readonly costUsd: () => number | null;
  /** The turn's deadline stands still until it is disposed: while a person is asked. */
  readonly pauseDeadline: () => Disposable;
  /** Messages of the same chat that came meanwhile and may join this turn. */
  readonly steer: () => readonly InboundMessage[];
  /** They are its own now. */
  readonly join: (messages: readonly InboundMessage[]) => void;
  readonly corrections: Corrections;
  /** Puts a message in the place of the one with its id. */
  readonly replace: (message: InboundMessage) => void;
}

export interface TurnPorts {
  readonly bus: MessageBus;
  readonly journal: Journal;
  readonly registry: ToolRegistry;
  readonly hooks: HookRunner;
  readonly questions: Questions;
  readonly slots: Slots;
  readonly bounds: CallBounds;
  readonly media: MediaStore;
  readonly attachments: GetAttachments;
  /** Keeps the prompts and tool lists that models were sent. */
  readonly promptParts: PromptParts;
  /** Where long results of a session are kept. */
  readonly spill: Pick<SpillStore, 'folder'>;
  readonly storage: Pick<StorageHealth, 'failed' | 'healed' | 'untilWritten'>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Takes secrets out of a text. */
  readonly redact: Redact;
  readonly skills: TurnSkills;
  readonly settings: TurnSettings;
}
