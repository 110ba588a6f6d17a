import type { IncomingHttpHeaders } from 'node:http';

/** What a scripted model server does with one request; the same words for every dialect. */
export type Step = string | Answer | RawStep | ErrorStep | FaultStep;

export interface ScriptedCall {
  readonly name: string;
  /** An object, or raw text (possibly broken JSON) that is sent as it is. */
  readonly arguments: Readonly<Record<string, unknown>> | string;
  /** @default a fresh one; may be empty or repeated on purpose */
  readonly id?: string;
}

export interface ScriptedUsage {
  /** Prompt tokens that were not cached. */
  readonly input?: number;
  readonly cached?: number;
  readonly cacheWrite?: number;
  readonly output?: number;
  /** Part of `output`. */
  readonly reasoning?: number;
}

/** A model's answer; what it holds comes in the order reasoning, redacted, text, calls. */
export interface Answer {
  readonly text?: string;
  readonly calls?: readonly ScriptedCall[];
  /** `reasoning_content` (OpenAI), a thinking block with a signature (Anthropic). */
  readonly reasoning?: string;
  /** The data of a redacted_thinking block; Anthropic only. */
  readonly redacted?: string;
  /** Null: the server does not say. @default 10 in, 5 out */
  readonly usage?: ScriptedUsage | null;
  /** In the dialect's own words; null: never sent. @default what fits the content */
  readonly finishReason?: string | null;
  /** The last word (`[DONE]`, `message_stop`) is left out and the body ends properly. */
  readonly noEnd?: boolean;
  /** Characters in one delta. @default 12 */
  readonly chunkSize?: number;
  /** Before the first byte. */
  readonly delayMs?: number;
  /** Between two events. */
  readonly eventDelayMs?: number;
  /** What goes wrong after `afterEvents` events of a stream; `drip` sends keep-alives for ever, every 20 ms. */
  readonly fault?: 'reset-mid' | 'hang-mid' | 'end-mid' | 'error-mid' | 'drip';
  /** @default 2 */
  readonly afterEvents?: number;
}

/** Bytes of the test's own choosing, each entry an event, an empty line added where it is missing. */
export interface RawStep {
  readonly raw: readonly string[];
  /** @default 200 */
  readonly status?: number;
  /** @default 'text/event-stream' */
  readonly contentType?: string;
  readonly delayMs?: number;
}

export interface ErrorStep {
  readonly error: {
    readonly status: number;
    readonly message?: string;
    readonly type?: string;
    /** OpenAI only. */
    readonly code?: string;
    readonly headers?: Readonly<Record<string, string>>;
    /** Instead of the dialect's error object; a string is sent as HTML. */
    readonly body?: unknown;
  };
  readonly delayMs?: number;
}

export interface FaultStep {
  /** The connection is reset before the answer, or nothing is ever answered. */
  readonly fault: 'reset' | 'hang';
  readonly delayMs?: number;
}

/** What a request says, in words common to the dialects, so that one handler can play both models. */
export interface RequestView {
  readonly model: string;
  readonly system: string;
  /** The text of the last user message that holds text. */
  readonly lastUserText: string;
  /** The results that came after the last assistant message. */
  readonly toolResults: readonly { readonly id: string; readonly text: string }[];
  /** The names of the tools offered. */
  readonly tools: readonly string[];
  readonly messageCount: number;
  readonly stream: boolean;
}

export interface ModelApiRequest {
  /** Counts from 0. */
  readonly index: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readonly<Record<string, unknown>>;
  /** The same as it came. */
  readonly text: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly view: RequestView;
  /** The client closed the connection before the answer was complete. */
  clientGone: boolean;
}

export type StepHandler = (request: ModelApiRequest) => Step | Promise<Step>;

/** Pieces of at most `size` code points; never empty text. */
export function pieces(text: string, size: number): string[] {
  const points = Array.from(text);
  const found: string[] = [];
  for (let at = 0; at < points.length; at += size) found.push(points.slice(at, at + size).join(''));
  return found;
}

/** The JSON text of a call's arguments. */
export function argumentsText(call: ScriptedCall): string {
  return typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments);
}
