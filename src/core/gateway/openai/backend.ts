import type { InboundMessage } from '../../bus/messages.ts';
import type { Usage } from '../../util/token-usage.ts';

/** What names a message of a program. */
export type MessageKey = Pick<InboundMessage, 'channel' | 'account' | 'chatId' | 'externalId'>;

/** Where the message of a program is on its way, as the journal says. */
export interface MessagePlace {
  readonly session: string;
  readonly state: string;
  readonly reason: string | null;
  readonly turnId: string | null;
  /** Milliseconds since 1970. */
  readonly receivedAt: number;
  /** It asked for the model without tools. */
  readonly light: boolean;
  /** It asked for an answer that is JSON and nothing else. */
  readonly json: boolean;
}

/** How a turn ended, and all that it said. */
export interface TurnRecord {
  readonly outcome: 'answered' | 'failed' | 'stopped';
  /** All texts of the model, separated by empty lines. */
  readonly text: string;
  /** The newest of them. */
  readonly last: string;
  /** Why it was not answered; '' when it was. */
  readonly reason: string;
  readonly usage: Usage;
}

/** An image that is stored. */
export interface KeptImage {
  /** SHA-256 in hex. */
  readonly hash: string;
  /** Absolute. */
  readonly path: string;
  readonly mediaType: string;
}

/** What the API in the shapes of OpenAI's knows of messages and models. */
export interface ApiBackend {
  readonly find: (key: MessageKey) => MessagePlace | undefined;
  /** The end of a turn on its tape; null: it has none, or is no longer kept. */
  readonly ended: (session: string, turnId: string) => Promise<TurnRecord | null>;
  /** Stores an image; null: it is too large, or no PNG, JPEG, GIF or WebP. */
  readonly keepImage: (bytes: Uint8Array) => Promise<KeptImage | null>;
  /** The model that makes vectors of texts; null: none is configured. */
  readonly embedder: () => Embedder | null;
}

/** A model that makes vectors. */
export interface Embedder {
  /** `provider/model` */
  readonly name: string;
  /** Rejects with a sentence of the provider. */
  embed(
    texts: readonly string[],
    options: { readonly dimensions?: number; readonly signal: AbortSignal },
  ): Promise<{ readonly vectors: readonly (readonly number[])[]; readonly tokens: number }>;
}
