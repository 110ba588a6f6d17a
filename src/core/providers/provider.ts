import type { Usage } from '../util/token-usage.ts';

/** A person's or the system's words, and images, as the model sees them. */
export type UserPart = { readonly type: 'text'; readonly text: string } | ImagePart;

/** An image with its bytes, or a handle that is read only when the body of a request is built. */
export type ImagePart =
  | { readonly type: 'image'; readonly mediaType: string; /** Base64. */ readonly data: string }
  | ({
      readonly type: 'image';
      readonly mediaType: string;
      /** Of its content. */ readonly hash: string;
    } & StoredImage);

export interface StoredImage {
  /** Bytes. */
  readonly size: number;
  /** As base64; undefined when it is gone. Never rejects. */
  readonly read: () => Promise<string | undefined>;
}

/** Opaque to everybody but the adapter that made it; replayed only to the same provider and model. */
export interface ReasoningPart {
  readonly type: 'reasoning';
  readonly provider: string;
  readonly model: string;
  /** What may be shown; may be empty. */
  readonly text: string;
  /** The adapter's own JSON: thinking blocks with signatures, `reasoning_content`, … */
  readonly data: unknown;
}

export interface ToolCallPart {
  readonly type: 'tool-call';
  /** Ours: `<turnId>.<n>`; minted when the call arrives. */
  readonly callId: string;
  /** The provider's id, possibly empty or repeated: replayed, never used as a key. */
  readonly providerCallId: string;
  readonly name: string;
  /** Raw JSON text as the model wrote it; may be broken. */
  readonly arguments: string;
}

export type AssistantPart = { readonly type: 'text'; readonly text: string } | ReasoningPart | ToolCallPart;

/** Provider-neutral transcript. A `tool` message answers one call of the assistant message before it. */
export type ModelMessage =
  | { readonly role: 'user'; readonly content: readonly UserPart[] }
  | { readonly role: 'assistant'; readonly content: readonly AssistantPart[] }
  | {
      readonly role: 'tool';
      readonly callId: string;
      readonly name: string;
      readonly output: string;
      readonly isError: boolean;
      readonly images?: readonly ImagePart[];
    };

export interface ToolSpec {
  readonly name: string;
  readonly description: string;
  /** JSON Schema (draft-7) of an object. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

export type ToolChoice = 'auto' | 'none' | { readonly tool: string };

export interface ModelRequest {
  /** The provider's own name of the model, without our provider prefix. */
  readonly model: string;
  /** Layers of the system prompt, joined by the adapter; most stable first. */
  readonly system: readonly string[];
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly ToolSpec[];
  readonly toolChoice: ToolChoice;
  readonly maxOutputTokens: number;
  readonly temperature?: number;
  readonly reasoning?: 'off' | 'low' | 'medium' | 'high';
  /**
   * Which models wrote the answers of this turn so far. One that did not write all of them answers without reasoning:
   * it cannot go on with the thoughts of another.
   */
  readonly turnModels?: readonly ModelName[];
  /** The quirks of the server that the request respects, as in `SentRequest`. @default those that the model has shown */
  readonly quirks?: readonly string[];
  /** Asks for a refusal's cause, so another model is not asked when this one refuses. @default false */
  readonly isTrial?: boolean;
  /** How often a call that failed for a passing reason is repeated; `withRetry` reads it. @default as that was told */
  readonly retries?: number;
}

/** Which model of which provider; both as the configuration and the request name them. */
export interface ModelName {
  readonly provider: string;
  readonly model: string;
}

export type StopReason = 'stop' | 'tool-calls' | 'length' | 'refusal';

/** A call as the model made it; the turn mints `callId` from it. */
export interface ModelToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

export interface ModelResponse {
  /** In the order in which the model wrote them. */
  readonly content: readonly (
    | { readonly type: 'text'; readonly text: string }
    | ReasoningPart
    | ({ readonly type: 'tool-call' } & ModelToolCall)
  )[];
  /** As the server named it. */
  readonly model: string;
  /** Null when the server did not say. */
  readonly usage: Usage | null;
  /** Which model it was, when it was not the one that was asked first. */
  readonly answeredBy?: ModelName;
  /** Fixed sentences, which no one wrote about this conversation: nothing of it is to be remembered. @default false */
  readonly scripted?: boolean;
  /** One sentence that the person should read with the answer, e.g. that images were left out. */
  readonly note?: string;
}

export const MODEL_ERROR_KINDS = [
  'rate-limit',
  'overloaded',
  'timeout',
  'network',
  'auth',
  'quota',
  'context-overflow',
  // The request has too many bytes, regardless of tokens. Fewer images may help.
  'request-too-large',
  'bad-request',
  'refusal',
  'unsupported-tool-choice',
  'aborted',
  'malformed',
] as const;

export type ModelErrorKind = (typeof MODEL_ERROR_KINDS)[number];

export interface ModelError {
  readonly type: 'error';
  readonly kind: ModelErrorKind;
  /** Whether the same request may succeed later; decided once, here. */
  readonly retryable: boolean;
  readonly retryAfterMs?: number;
  readonly status?: number;
  /**
   * `images`: the model takes no images. `image`: there was something wrong with one of them. `model`: the provider
   * doesn't have the model or can't run it for this request, so another model may answer. `loading`: the server is still
   * loading the model.
   */
  readonly about?: 'images' | 'image' | 'model' | 'loading';
  /** Set if the provider doesn't have the model. `pull` is the command that downloads it, or null if none is known. */
  readonly missing?: { readonly pull: string | null };
  /** The server's own words on one line, without secrets; shown through `literal`. */
  readonly said?: string;
  /** Of a `context-overflow`: the model's window, tokens, where the server names it, and what it counted in the request. */
  readonly window?: { readonly tokens: number; readonly asked?: number };
  /** What a person may have to correct: the path of a setting, or the variable that it was read from. */
  readonly setting?: string;
  /** The server had begun its answer, which costs money even if nothing of the text has arrived. */
  readonly begun?: true;
  /** One sentence: what happened; no secret, no stack. */
  readonly message: string;
}

/** What was streamed so far is void: the answer begins anew, perhaps from another model. */
export interface ModelRestart {
  readonly type: 'restart';
  readonly reason: ModelErrorKind;
  readonly status?: number;
  /** As in `ModelError`. */
  readonly said?: string;
  /** As in `ModelError`. */
  readonly about?: 'loading';
  /** How long nothing will happen. */
  readonly waitMs: number;
  /** One sentence for the person who is waiting. */
  readonly message: string;
}

/** A request as it was sent: what it takes, beside the transcript, to build the same bytes again. */
export interface SentRequest extends ModelName {
  /** Which of the provider's keys, counted from 1; absent where it has one or none. */
  readonly key?: number;
  /** SHA-256 of the body's bytes in hex, cache marks included; null: nothing was sent. */
  readonly body: string | null;
  readonly bytes: number;
  readonly reasoning: NonNullable<ModelRequest['reasoning']>;
  /** Sentences stood in for its images: the model had refused them. @default false */
  readonly withoutImages?: boolean;
  /** How it was changed for this server, see `quirks.ts`. @default not at all */
  readonly quirks?: readonly string[];
}

export type ModelEvent =
  /** For the record of the call; one for each attempt that reached an adapter, before all else of that attempt. */
  | ({ readonly type: 'request' } & SentRequest)
  | { readonly type: 'text-delta'; readonly text: string }
  | { readonly type: 'reasoning-delta'; readonly text: string }
  | { readonly type: 'tool-call-delta'; readonly index: number; readonly name: string; readonly argumentsDelta: string }
  | { readonly type: 'tool-call'; readonly index: number; readonly call: ModelToolCall }
  | { readonly type: 'usage'; readonly usage: Usage }
  | { readonly type: 'end'; readonly stopReason: StopReason; readonly response: ModelResponse }
  | ModelRestart
  | ModelError;

/**
 * One way to reach models. `chat` never throws and never hangs: it yields events and ends with exactly one
 * `end` or `error`; an aborted signal gives `error {kind: 'aborted'}` within a second.
 */
export interface Provider {
  /** The key in `config.providers`. */
  readonly name: string;
  /** It runs on this machine or in this network: slow means busy, so that a timed-out call is not repeated. */
  readonly local?: boolean;
  chat(request: ModelRequest, options: { readonly signal: AbortSignal }): AsyncIterable<ModelEvent>;
  /** The body that `chat` would send, byte for byte; absent or null where it sends none over the network. */
  body?(request: ModelRequest): Promise<string | null>;
  /** Loads the SDK ahead of the first call; never throws. */
  warm?(): Promise<void>;
}
