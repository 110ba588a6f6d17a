import type { InboundMessage, Role } from '../../bus/messages.ts';
import type { Origin } from '../../bus/origins.ts';
import type { Provider, ToolSpec } from '../../providers/provider.ts';
import type { Session } from '../../session/session.ts';
import type { TurnFacts } from '../hooks/hooks.ts';
import type { PromptLayer } from '../prompt/layers.ts';
import type { Corrections } from './corrections.ts';
import type { Live } from './live.ts';
import type { Steering } from './steering.ts';

/** A model chosen for a turn. */
export interface ChosenModel {
  readonly provider: Provider;
  readonly providerName: string;
  /** The model's name at the provider. */
  readonly model: string;
}

/** A running turn: what it was given. Its progress is on the tape only. */
export interface Turn {
  readonly facts: TurnFacts;
  /** That of its messages. */
  readonly origin: Origin;
  readonly role: Role;
  readonly session: Session;
  readonly chosen: ChosenModel;
  /** Layers of the system prompt. */
  readonly system: readonly string[];
  /** The layers before any hook changed them. */
  readonly files: readonly string[];
  /** The same layers with their names. */
  readonly layers: readonly PromptLayer[];
  /** The turn answers an owner in a direct chat, so its messages and the files in its prompt are private. */
  readonly isOwners: boolean;
  /** The tools that the model sees; whether it may call one is decided at each call. */
  readonly tools: readonly ToolSpec[];
  /** Rebuilds the system prompt and the tools for the model's window, which a refusal has just named. True if its size changed. */
  readonly resize: () => Promise<boolean>;
  /** Aborts with `EndTurn` for a /stop or a deadline, with anything else when the process ends. */
  readonly signal: AbortSignal;
  readonly live: Live;
  /** US dollars of the turn's model calls so far; null when a price is unknown or there was none. */
  readonly costUsd: () => number | null;
  /** Stops the clock of the turn's deadline until the result is disposed of; for the time in which a person is asked. */
  readonly pauseDeadline: () => Disposable;
  /** Resolves when its messages are durable. Before, it writes and sends nothing. */
  readonly untilDurable: () => Promise<void>;
  /** Finds messages of the same chat that came during the turn and may join it. */
  readonly steering: Pick<Steering, 'next'>;
  /** Adds messages to `facts.messages`. */
  readonly join: (messages: readonly InboundMessage[]) => void;
  readonly corrections: Pick<Corrections, 'inPlaceOf' | 'after'>;
  /** Replaces the message of `facts.messages` with the same id. */
  readonly replace: (message: InboundMessage) => void;
}
