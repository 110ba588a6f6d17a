import type { Config } from '../config/schema.ts';
import type { Setting } from '../setup/save.ts';
import type { SetupWorld } from '../setup/world.ts';
import type { EndpointOptions } from './endpoint.ts';
import type { Presets, ServiceRow } from './presets.ts';
import type { Provider } from './provider.ts';
import type { ProviderConfig } from './open-provider.ts';
import type { WindowQuestion } from './probe-context-window.ts';

/** What a vendor's server is asked for the context window of a model with. */
export interface AskedWindow extends WindowQuestion {
  /** Tokens that are configured; null: none are. */
  readonly configured: number | null;
}

/** Vectors of texts, in their order, and the tokens that they took. */
export interface Embeddings {
  readonly vectors: readonly (readonly number[])[];
  readonly tokens: number;
  /** The server doesn't count its tokens. */
  readonly estimated: boolean;
}

/** Makes vectors of texts. Rejects with a sentence when the server does not. */
export type Embed = (
  texts: readonly string[],
  options: { readonly dimensions?: number; readonly signal: AbortSignal },
) => Promise<Embeddings>;

/** Turns the speech in a file into text; rejects when the server does not. */
export type Transcribe = (path: string, signal: AbortSignal) => Promise<string>;

/** Speaks a text; rejects when the server does not. */
export type Synthesize = (
  text: string,
  options: { readonly voice: string; readonly format: 'opus' | 'mp3' | 'aac' | 'flac' | 'wav' },
  signal: AbortSignal,
) => Promise<Uint8Array>;

/** Opens one model of a server. */
type Opens<Call> = (endpoint: EndpointOptions, model: string) => Promise<Call>;

/** A wire of its own, and the services that speak it. */
export interface Vendor {
  readonly api: string;
  /** By the names that people use in `provider/model`. */
  readonly presets: Readonly<Record<string, ServiceRow>>;
  /** The adapter of one entry, held to the contract of `Provider`. It loads what it needs at its first call. */
  readonly connect: (endpoint: EndpointOptions, windowOf: (model: string) => number | null) => Provider;
  /** What `wire` of an entry may be. @default `chat` alone */
  readonly wires?: readonly NonNullable<ProviderConfig['wire']>[];
  /** How a server is asked for its models. @default `/models` with a bearer token, as most servers know it */
  readonly listing?: (
    baseUrl: string,
    apiKey: string | null,
  ) => { readonly url: string; readonly headers: Readonly<Record<string, string>> };
  readonly embeddings?: Opens<Embed>;
  readonly transcribe?: Opens<Transcribe>;
  readonly speak?: Opens<Synthesize>;
  /**
   * Tokens of context of a model; null: the server does not say. Never throws. `elsewhere`: what the server says through the
   * wires of other vendors that the model is loaded with.
   */
  readonly window?: (asked: AskedWindow, elsewhere: () => Promise<number | null>) => Promise<number | null>;
  /** The same that it is loaded with at present. */
  readonly loadedWindow?: (asked: WindowQuestion) => Promise<number | null>;
  /** Its server is told how many tokens to load: what counts where it does not say and nothing is configured. */
  readonly usualWindow?: number;
  /** Words of errors. */
  readonly hints?: ErrorHints;
  /** What `assistant init` writes beside the entry. Never throws. */
  readonly setUp?: (world: SetupWorld, config: Config, place: VendorPlace) => Promise<readonly Setting[]>;
  /** Its requests depend on what the server says, so a saved turn cannot be replayed. @default false */
  readonly isNotReplayed?: true;
}

export interface VendorPlace {
  /** The key in `config.providers`. */
  readonly provider: string;
  readonly model: string;
  readonly entry: ProviderConfig;
  readonly apiKey: string | null;
}

/** The commands of a server that runs on a person's own machine. */
export interface ErrorHints {
  readonly start: string;
  readonly pull: (model: string) => string;
  /** What to do when the model `provider/model` does not fit into the machine: a sentence without its end. */
  readonly lessMemory: (model: string) => string;
}

/** Vendors by `api`. */
export type Vendors = Readonly<Record<string, Vendor>>;

/** What a program knows of models. */
export interface ModelServices {
  readonly vendors: Vendors;
  readonly presets: Presets;
}
