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

/** A wire of its own, and the services that speak it. */
export interface Vendor {
  readonly api: string;
  /** By the names that people use in `provider/model`. */
  readonly presets: Readonly<Record<string, ServiceRow>>;
  /** The adapter of one entry, held to the contract of `Provider`. It loads what it needs at its first call. */
  readonly connect: (endpoint: EndpointOptions, windowOf: (model: string) => number | null) => Provider;
  /** Tokens of context of a model; null: the server does not say. Never throws. */
  readonly window?: (asked: AskedWindow) => Promise<number | null>;
  /** The same that it is loaded with at present. */
  readonly loadedWindow?: (asked: WindowQuestion) => Promise<number | null>;
  /** What counts where it does not say and nothing is configured. */
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
