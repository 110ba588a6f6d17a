import type { OutboundEvent, TurnSummary } from '../bus/messages.ts';
import type { ConversationOptions, SendInput } from '../gateway/assistant-port.ts';
import type { ModelErrorKind } from '../providers/provider.ts';

/** What one run wants; all of it holds for this run alone. */
export interface RunOptions extends Omit<SendInput, 'text' | 'images'>, Pick<ConversationOptions, 'onApproval'> {
  /** The conversation that the message belongs to. @default 'main' */
  readonly session?: string;
  /** Aborting it stops the turn. */
  readonly signal?: AbortSignal;
  /** Images that belong to the message: paths, or their bytes (PNG, JPEG, GIF, WebP). @default none */
  readonly images?: readonly (string | Uint8Array)[];
}

/**
 * Why a run failed: what went wrong with the model, `timeout` also for the time limit of the run, `aborted` for a run that was
 * stopped, `limit` for a budget, the steps of a turn or a full queue, `denied` for the word of a plugin, or `other`.
 */
export type RunErrorKind = ModelErrorKind | 'limit' | 'denied' | 'other';

/** A file that a turn sent. */
export interface SentFile {
  /** Absolute path of a copy, which stays as it was sent. */
  readonly path: string;
  readonly name: string;
  readonly kind: 'image' | 'audio' | 'video' | 'document';
  readonly mediaType: string;
}

/** How a run ended. */
export interface RunResult extends TurnSummary {
  /** The turn that answered; null when there was none, e.g. because too many messages wait. */
  readonly turnId: string | null;
  /** The session, as `assistant sessions` and tools name it, e.g. `terminal:main`. */
  readonly sessionKey: string;
  /** Name of the provider whose model answered: the part of `model` before the slash. Null when none did. */
  readonly provider: string | null;
  /** Null when it did not fail. */
  readonly errorKind: RunErrorKind | null;
  /** The files that the turn sent, in order. */
  readonly media: readonly SentFile[];
  /** The tool calls of the turn, in order. */
  readonly toolCalls: readonly RunToolCall[];
}

/** A live event of a run; the last one says how it ended. */
export type RunEvent =
  | Exclude<OutboundEvent, { type: 'turn-end' }>
  | (Omit<Extract<OutboundEvent, { type: 'turn-end' }>, 'result'> & { readonly result: RunResult });

/** Events of a run in order; what it returns is the result of `run`. */
export type RunStream = AsyncGenerator<RunEvent, RunResult, void>;

/** What a program does with an assistant in its own process. */
export interface Runs {
  /**
   * Sends a text to a session and waits for the end of its turn. Resolves also when the turn failed: see `outcome`. Rejects
   * with one sentence for options that cannot be meant, and when the assistant stops before the end (`connection-lost`).
   */
  run(text: string, options?: RunOptions): Promise<RunResult>;
  /**
   * Like `run`, with the live events of the session; the last is `turn-end` with the result. Leaving the loop early does not
   * stop the turn.
   */
  stream(text: string, options?: RunOptions): RunStream;
}

/** A tool call of a turn, and what became of it. */
export interface RunToolCall {
  readonly name: string;
  /** What the model gave, mostly an object; a text where it was no JSON. */
  readonly args: unknown;
  readonly ok: boolean;
  /** What was done, in a few words: `read notes.md`. */
  readonly title: string;
  /** Why it is not ok, in one line: it failed, or rules, a plugin or a person refused it. Null when it is. */
  readonly problem: string | null;
  /** How long it took, with the time in which a person was asked. 0 for a call that was not run. */
  readonly durationMs: number;
}
